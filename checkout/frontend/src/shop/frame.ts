/** The checkout in a frame. Handles its messages, and finds out whether it has loaded. */

import { type Hello, isMessage, type CheckoutMessage, VERSION } from "../messages";
import type { Labels, Options, Progress } from "./quittance";
import { chosenLanguage, type Language, labelsIn } from "./words";

const SILENT_MS = 1500;
const SLOW_MS = 6000;

export interface FrameEvents {
  /** The checkout has loaded and sends messages to this page. */
  ready(): void;
  /** The checkout is slow to load. */
  slow(): void;
  /** The page has loaded, but sends no message. Probably this origin isn't allowed to embed it. */
  refused(): void;
  height(pixels: number): void;
  close(): void;
  /** The wallet no longer has an open prompt, so the checkout may be removed. */
  idle(): void;
}

export class CheckoutFrame {
  readonly element = document.createElement("iframe");
  readonly language: Language | null;
  readonly labels: Labels;
  progress: Progress | null = null;
  isBusy = false;
  private readonly url: URL;
  private isReady = false;
  private isCompleted = false;
  private timer = 0;
  private readonly listener = (event: MessageEvent<unknown>): void => this.heard(event);

  constructor(
    private readonly options: Options,
    private readonly events: FrameEvents,
    private readonly closable: boolean,
  ) {
    this.url = webAddress(options.paymentUrl);
    this.language = chosenLanguage(options.language ?? this.url.searchParams.get("lang") ?? undefined);
    if (this.language?.isExplicit) this.url.searchParams.set("lang", this.language.tag);
    this.labels = { ...labelsIn(this.language), ...options.labels };
    this.element.title = this.labels.title;
    this.element.allow = "clipboard-write";
    this.element.referrerPolicy = "no-referrer";
    this.element.addEventListener("load", () => this.loaded());
    window.addEventListener("message", this.listener);
  }

  get address(): string {
    return this.url.href;
  }

  /** The checkout's host, which is shown because a frame has no address bar. */
  get host(): string {
    return this.url.host;
  }

  /** Start loading. The element must already be in the page. */
  start(): void {
    this.element.src = this.url.href;
    this.timer = window.setTimeout(() => this.events.slow(), SLOW_MS);
  }

  stop(): void {
    clearTimeout(this.timer);
    window.removeEventListener("message", this.listener);
    this.element.remove();
  }

  private loaded(): void {
    if (!this.element.isConnected || !this.element.src) return;
    const hello: Hello = { quittance: VERSION, type: "hello", closable: this.closable };
    this.element.contentWindow?.postMessage(hello, this.url.origin);
    if (this.isReady) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.events.refused(), SILENT_MS);
  }

  private heard(event: MessageEvent<unknown>): void {
    if (event.source !== this.element.contentWindow || event.origin !== this.url.origin) return;
    if (!isMessage(event.data)) return;
    const message = event.data as CheckoutMessage;
    if (message.type === "status") this.take(message);
    else if (message.type === "height") this.events.height(Number(message.height) || 0);
    else if (message.type === "close") this.events.close();
  }

  private take(status: { payment_request_id: string; status: string; is_busy: boolean }): void {
    if (!this.isReady) {
      this.isReady = true;
      clearTimeout(this.timer);
      this.events.ready();
    }
    const wasBusy = this.isBusy;
    this.isBusy = status.is_busy === true;
    if (wasBusy && !this.isBusy) this.events.idle();
    const progress = { paymentRequestId: String(status.payment_request_id), status: String(status.status) };
    if (progress.status === this.progress?.status) return;
    this.progress = progress;
    tell(this.options.onStatus, progress);
    if (progress.status !== "completed" || this.isCompleted) return;
    this.isCompleted = true;
    tell(this.options.onCompleted, progress);
  }
}

/**
 * Call the shop's function in a separate task. If it throws an error, the browser reports it, but this script
 * continues.
 */
export function tell<Value>(listener: ((value: Value) => void) | undefined, value: Value): void {
  if (listener) void Promise.resolve(value).then(listener);
}

function webAddress(text: unknown): URL {
  const url = parsed(String(text));
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new TypeError("Quittance: paymentUrl should be the payment request's payment_url");
  }
  return url;
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
