/** Brings remembered transaction hashes to the server, and does not give up until it has them. */

import { ApiError, type Api } from "./api";
import type { Outbox } from "./outbox";
import type { SentTransaction } from "./types";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

export class Delivery {
  isRetrying = false;
  private running = false;

  constructor(
    private readonly api: Api,
    private readonly outbox: Outbox,
    private readonly onChange: () => void,
    private readonly onDelivered: () => void,
    private readonly onRefused: (message: string) => void,
  ) {}

  /** Submits what is unsent, one at a time, with back-off; returns when nothing is left. */
  async run(): Promise<void> {
    if (this.running) return;
    this.running = true;
    let pause = FIRST_PAUSE_MS;
    for (let sent = this.outbox.unsent[0]; sent; sent = this.outbox.unsent[0]) {
      const waitMs = await this.submit(sent);
      pause = waitMs === null ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
      if (waitMs !== null) await sleep(Math.max(waitMs, pause / 2));
    }
    this.running = false;
  }

  /** Null when the server has answered for good; else how long it asks to be left alone. */
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
      this.outbox.drop(sent.transaction_hash);
      this.onRefused(error.message);
      return null;
    }
    this.isRetrying = false;
    this.outbox.acknowledge(sent.transaction_hash);
    this.onDelivered();
    return null;
  }
}

/** Ends early when the browser is connected again. */
function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      window.removeEventListener("online", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    window.addEventListener("online", wake);
  });
}
