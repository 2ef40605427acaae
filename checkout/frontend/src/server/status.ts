/** Polls the payment request's status at the interval that the server sets. */

import type { Api } from "./api";
import { ApiError } from "./api";
import type { Checkout } from "./types";

const HIDDEN_MS = 30_000;
const LONGEST_MS = 60_000;
const SHORTEST_MS = 500;
const FAILURES_BEFORE_TELLING = 3;

export class StatusPoll {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private asking = false;
  private again = false;
  private failures = 0;
  private retryAfterMs = 0;
  private intervalMs: number;
  private final: boolean;

  constructor(
    private readonly api: Api,
    first: Checkout,
    private readonly onChange: (checkout: Checkout) => void,
    private readonly onConnection: (isUp: boolean) => void,
  ) {
    this.intervalMs = first.poll_in_ms;
    this.final = first.is_final;
    document.addEventListener("visibilitychange", () => this.visibilityChanged());
    window.addEventListener("offline", () => this.lost());
    window.addEventListener("online", () => this.visibilityChanged());
    // Restored from the back-forward cache, or after a wallet app had suspended this page.
    window.addEventListener("pageshow", (event) => event.persisted && this.visibilityChanged());
  }

  start(): void {
    if (!this.final) this.schedule(this.intervalMs);
  }

  /** Poll immediately, and keep polling even if the request looked final. */
  now(): void {
    this.final = false;
    if (this.asking) {
      this.again = true;
      return;
    }
    void this.ask();
  }

  private visibilityChanged(): void {
    if (this.final) return;
    if (document.hidden) this.schedule(this.pause());
    else this.now();
  }

  private async ask(): Promise<void> {
    this.cancel();
    this.asking = true;
    try {
      const checkout = await this.api.checkout();
      this.connected();
      if (checkout) this.take(checkout);
    } catch (error) {
      this.failed(error);
    }
    this.asking = false;
    if (this.again) {
      this.again = false;
      void this.ask();
    } else if (!this.final) {
      this.schedule(this.pause());
    }
  }

  private take(checkout: Checkout): void {
    this.intervalMs = checkout.poll_in_ms;
    this.final = checkout.is_final;
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
    if (this.failures === FAILURES_BEFORE_TELLING) this.onConnection(false);
  }

  /** The browser is offline: report it without waiting for failed requests. */
  private lost(): void {
    if (this.final || this.failures >= FAILURES_BEFORE_TELLING) return;
    this.failures = FAILURES_BEFORE_TELLING;
    this.onConnection(false);
  }

  private pause(): number {
    const backedOff = Math.min(this.intervalMs * 2 ** Math.min(this.failures, 6), LONGEST_MS);
    return Math.max(SHORTEST_MS, backedOff, this.retryAfterMs, document.hidden ? HIDDEN_MS : 0);
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
