/** Submits stored transaction hashes to the server, and retries until the server has them. */

import { ApiError, type Api } from "./api";
import type { Outbox } from "./outbox";
import type { SentTransaction } from "./types";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

export class Delivery {
  isRetrying = false;
  private running = false;
  private wake = (): void => undefined;

  constructor(
    private readonly api: Api,
    private readonly outbox: Outbox,
    private readonly onChange: () => void,
    private readonly onDelivered: () => void,
    private readonly onRefused: (sent: SentTransaction, message: string) => void,
  ) {}

  /** Submit unsent hashes one at a time, with back-off, until none is left. Calling it again skips the current pause. */
  async run(): Promise<void> {
    if (this.running) return this.wake();
    this.running = true;
    let pause = FIRST_PAUSE_MS;
    for (let sent = this.outbox.next; sent; sent = this.outbox.next) {
      const waitMs = await this.submit(sent);
      pause = waitMs === null ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
      if (waitMs !== null) await this.sleep(Math.max(waitMs, pause / 2));
    }
    this.running = false;
  }

  /** Return null if the server's answer is final, else the milliseconds that it asks to wait. */
  private async submit(sent: SentTransaction): Promise<number | null> {
    try {
      await this.api.submit(sent);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.isTemporary) {
        this.isRetrying = true;
        this.onChange();
        return (error.retryAfterSeconds ?? 0) * 1000;
      }
      this.isRetrying = false;
      this.onRefused(sent, error.message);
      return null;
    }
    this.isRetrying = false;
    this.outbox.acknowledge(sent.transaction_hash);
    this.onDelivered();
    return null;
  }

  /** Ends early when the browser is online again, or when there is a new hash. */
  private sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        clearTimeout(timer);
        window.removeEventListener("online", this.wake);
        resolve();
      };
      const timer = setTimeout(this.wake, ms);
      window.addEventListener("online", this.wake);
    });
  }
}
