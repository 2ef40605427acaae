/**
 * Pairing. The page proposes a session, and shows the proposal as a code. A wallet accepts the proposal by scanning the
 * code. Proposals expire.
 */

import type { Namespaces } from "./caip";
import type { Client } from "./client";

export type Pairing =
  | { phase: "opening" }
  /** The code can be scanned. */
  | { phase: "open"; uri: string }
  | { phase: "expired" }
  /** The relay doesn't respond. */
  | { phase: "unreachable" };

/** The relay deletes a proposal after five minutes. */
const EXPIRES_AFTER_MS = 290_000;
const SILENT_AFTER_MS = 20_000;

/** Proposes a session, and reports each phase. `run` returns the session's topic. */
export class Proposing {
  private attempt = 0;
  private settle: { resolve: (topic: string) => void; reject: (error: unknown) => void } | null = null;

  constructor(
    private readonly client: Client,
    private readonly namespaces: Namespaces,
    private readonly onPhase: (pairing: Pairing) => void,
  ) {}

  /**
   * Resolves when a wallet connects, and rejects if the wallet declines. Until then, call `renew` to replace an expired
   * code.
   */
  run(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      void this.renew();
    });
  }

  /** Create a new code. A wallet that accepts an old code is disconnected. */
  async renew(): Promise<void> {
    const mine = (this.attempt += 1);
    const report = (pairing: Pairing): void => {
      if (mine === this.attempt) this.onPhase(pairing);
    };
    report({ phase: "opening" });
    const silent = setTimeout(() => report({ phase: "unreachable" }), SILENT_AFTER_MS);
    try {
      const { uri = "", approval } = await this.client.connect({ optionalNamespaces: this.namespaces });
      clearTimeout(silent);
      report({ phase: "open", uri });
      setTimeout(() => report({ phase: "expired" }), EXPIRES_AFTER_MS);
      void approval().then(
        ({ topic }) => (mine === this.attempt ? this.settle?.resolve(topic) : this.letGo(topic)),
        (error: unknown) => mine === this.attempt && this.refused(error, report),
      );
    } catch {
      clearTimeout(silent);
      report({ phase: "unreachable" });
    }
  }

  /** The customer has left. Ignore all further responses. */
  stop(): void {
    this.attempt += 1;
  }

  private refused(error: unknown, report: (pairing: Pairing) => void): void {
    const { message } = (error ?? {}) as { message?: unknown };
    if (String(message).includes("expired")) return report({ phase: "expired" });
    this.settle?.reject(error);
  }

  private letGo(topic: string): void {
    void this.client.disconnect({ topic, reason: { code: 6000, message: "" } }).catch(() => undefined);
  }
}
