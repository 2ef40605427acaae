/** Submits stored hashes and signatures to the server. Retries until the server has them. */

import { ApiError, type Api } from "./api";
import type { Outbox, SignedTransfer } from "./outbox";
import type { Payment, SentTransaction } from "./types";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

export interface Delivered {
  /** The server has a hash. */
  delivered(): void;
  refused(sent: SentTransaction, error: ApiError): void;
  /** The server has a signature. */
  authorized(signed: SignedTransfer, payment: Payment): void;
  unauthorized(signed: SignedTransfer, error: ApiError): void;
}

export class Delivery {
  isRetrying = false;
  private running = false;
  private wake = (): void => undefined;

  constructor(
    private readonly api: Api,
    private readonly outbox: Outbox,
    private readonly onChange: () => void,
    private readonly events: Delivered,
  ) {}

  /**
   * Submit the unsent hashes and signatures one at a time, until none is left. After errors, the pauses get longer.
   * Another call skips the current pause.
   */
  async run(): Promise<void> {
    if (this.running) return this.wake();
    this.running = true;
    let pause = FIRST_PAUSE_MS;
    for (let submit = this.next(); submit; submit = this.next()) {
      const waitMs = await this.attempt(submit);
      pause = waitMs === null ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
      if (waitMs !== null) await this.sleep(Math.max(waitMs, pause / 2));
    }
    this.running = false;
  }

  /** The function that submits the next hash or signature. Signatures come first, because they expire soon. */
  private next(): Submit | null {
    const { api, outbox, events } = this;
    const { unsubmitted: signed, next: sent } = outbox;
    if (signed?.authorization) {
      const { routeId, authorization } = signed;
      return {
        submit: async () => {
          const payment = await api.authorize(routeId, authorization);
          return () => events.authorized(signed, payment);
        },
        refused: (error) => events.unauthorized(signed, error),
      };
    }
    if (!sent) return null;
    return {
      submit: async () => {
        await api.submit(sent);
        outbox.acknowledge(sent.transaction_hash);
        return () => events.delivered();
      },
      refused: (error) => events.refused(sent, error),
    };
  }

  /** Return null if the server's response is final. Otherwise return the milliseconds to wait before a retry. */
  private async attempt({ submit, refused }: Submit): Promise<number | null> {
    let report: () => void;
    try {
      report = await submit();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.isTemporary) {
        this.isRetrying = true;
        this.onChange();
        return (error.retryAfterSeconds ?? 0) * 1000;
      }
      this.isRetrying = false;
      refused(error);
      return null;
    }
    this.isRetrying = false;
    report();
    return null;
  }

  /** The pause ends early if the browser is online again, or if there is a new hash. */
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

interface Submit {
  /** Submit the hash or signature. The returned function then reports that the server has it. */
  submit(): Promise<() => void>;
  refused(error: ApiError): void;
}
