/** Follows the payment request's status, by a stream or by polling. The server decides which, and the interval. */

import type { Api } from "./api";
import { ApiError } from "./api";
import { StatusStream } from "./stream";
import type { Checkout } from "./types";

const HIDDEN_MS = 30_000;
const LONGEST_MS = 60_000;
const SHORTEST_MS = 500;
/** With a stream, polling only checks that no update was missed. */
const STREAMED_MS = 15_000;
const FAILURES_BEFORE_TELLING = 3;

export class StatusPoll {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private asking = false;
  private again = false;
  private failures = 0;
  private retryAfterMs = 0;
  private intervalMs: number;
  private final: boolean;
  private taken = 0;
  private readonly stream: StatusStream;

  constructor(
    private readonly api: Api,
    first: Checkout,
    streamUrl: string | null,
    private readonly onChange: (checkout: Checkout) => void,
    private readonly onConnection: (isUp: boolean) => void,
  ) {
    this.intervalMs = first.poll_in_ms;
    this.final = first.is_final;
    this.stream = new StatusStream(streamUrl, (checkout, etag) => this.streamed(checkout, etag));
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
    window.addEventListener("offline", () => this.lost());
    window.addEventListener("online", () => this.visibilityChanged());
    // The page may have been in the back-forward cache, or suspended while a wallet app was open.
    window.addEventListener("pageshow", (event) => event.persisted && this.visibilityChanged());
  }

  /** Start to follow the request. Poll a final request too, but without a stream: a late payment may change it. */
  start(): void {
    if (!this.final && !document.hidden) this.stream.open();
    this.schedule(this.intervalMs);
  }

  /** Poll immediately, and continue even if the request looked final. */
  now(): void {
    this.final = false;
    if (!document.hidden) this.stream.open();
    this.askOrRepeat();
  }

  /** Fetch the state and apply it. Throw ApiError if there is no response. */
  async refresh(): Promise<void> {
    let before: number;
    let checkout: Checkout;
    do {
      before = this.taken;
      checkout = await this.api.wholeCheckout();
      // If another state has come meanwhile, either can be the newer one. So fetch the state again.
    } while (this.taken !== before);
    this.api.received(null); // The earlier ETag belongs to the state that this one replaces.
    this.take(checkout);
  }

  private askOrRepeat(): void {
    if (this.asking) this.again = true;
    else void this.ask();
  }

  private visibilityChanged(): void {
    if (document.hidden) {
      // With HTTP/1.1, browsers allow only a few connections to a server. So a hidden page closes its connection.
      this.stream.close();
      this.schedule(this.pause());
    } else if (this.final) {
      this.askOrRepeat();
    } else {
      this.now();
    }
  }

  private streamed(checkout: Checkout, etag: string): void {
    this.api.received(etag);
    this.connected();
    this.take(checkout);
    this.schedule(this.pause());
  }

  private async ask(): Promise<void> {
    this.cancel();
    this.asking = true;
    const before = this.taken;
    try {
      const checkout = await this.api.checkout();
      this.connected();
      if (this.taken !== before) {
        // Meanwhile, another state has come, which may be newer. Fetch the state again, even if it has this one's ETag.
        this.api.received(null);
        this.again = true;
      } else if (checkout) {
        this.take(checkout);
      }
    } catch (error) {
      this.failed(error);
    }
    this.asking = false;
    if (this.again) {
      this.again = false;
      void this.ask();
    } else {
      this.schedule(this.pause());
    }
  }

  private take(checkout: Checkout): void {
    this.taken += 1;
    const wasFinal = this.final;
    this.intervalMs = checkout.poll_in_ms;
    this.final = checkout.is_final;
    if (this.final) this.stream.close();
    else if (wasFinal && !document.hidden) this.stream.open();
    this.onChange(checkout);
  }

  private connected(): void {
    if (this.failures >= FAILURES_BEFORE_TELLING) this.onConnection(true);
    this.failures = 0;
    this.retryAfterMs = 0;
  }

  private failed(error: unknown): void {
    this.failures += 1;
    this.retryAfterMs = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    if (this.failures === FAILURES_BEFORE_TELLING && !this.final) this.onConnection(false);
  }

  /** The browser is offline. Report that now, before requests fail. */
  private lost(): void {
    if (this.final || this.failures >= FAILURES_BEFORE_TELLING) return;
    this.failures = FAILURES_BEFORE_TELLING;
    this.onConnection(false);
  }

  private pause(): number {
    const backedOff = Math.min(this.intervalMs * 2 ** Math.min(this.failures, 6), LONGEST_MS);
    const slowest = document.hidden ? HIDDEN_MS : this.stream.isConnected ? STREAMED_MS : 0;
    return Math.max(SHORTEST_MS, backedOff, this.retryAfterMs, slowest);
  }

  private schedule(ms: number): void {
    this.cancel();
    if (this.asking) return;
    this.timer = setTimeout(() => void this.ask(), Math.max(SHORTEST_MS, ms));
  }

  private cancel(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }
}
