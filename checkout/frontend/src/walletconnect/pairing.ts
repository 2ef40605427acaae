/** From a code on the page to a session: a proposal that one wallet may take up, and that runs out. */

import type { Namespaces } from "./caip";
import type { Client } from "./client";

export type Pairing =
  | { phase: "opening" }
  /** The code can be scanned. */
  | { phase: "open"; uri: string }
  | { phase: "expired" }
  /** The relay does not answer. */
  | { phase: "unreachable" };

/** The relay forgets a proposal after five minutes. */
const EXPIRES_AFTER_MS = 290_000;
const SILENT_AFTER_MS = 20_000;

/** Proposes a session, and tells each phase; the topic of the session once a wallet has taken it up. */
export class Proposing {
  private attempt = 0;
  private settle: { resolve: (topic: string) => void; reject: (error: unknown) => void } | null = null;

  constructor(
    private readonly client: Client,
    private readonly namespaces: Namespaces,
    private readonly tell: (pairing: Pairing) => void,
  ) {}

  /** Rejects with the wallet's refusal; stays open while codes run out and are renewed. */
  run(): Promise<string> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      void this.renew();
    });
  }

  /** A new code; a wallet that still answers the old one is disconnected. */
  async renew(): Promise<void> {
    const mine = (this.attempt += 1);
    const tell = (pairing: Pairing): void => {
      if (mine === this.attempt) this.tell(pairing);
    };
    tell({ phase: "opening" });
    const silent = setTimeout(() => tell({ phase: "unreachable" }), SILENT_AFTER_MS);
    try {
      const { uri = "", approval } = await this.client.connect({ optionalNamespaces: this.namespaces });
      clearTimeout(silent);
      tell({ phase: "open", uri });
      setTimeout(() => tell({ phase: "expired" }), EXPIRES_AFTER_MS);
      void approval().then(
        ({ topic }) => (mine === this.attempt ? this.settle?.resolve(topic) : this.letGo(topic)),
        (error: unknown) => mine === this.attempt && this.refused(error, tell),
      );
    } catch {
      clearTimeout(silent);
      tell({ phase: "unreachable" });
    }
  }

  /** The customer has gone elsewhere. */
  stop(): void {
    this.attempt += 1;
  }

  private refused(error: unknown, tell: (pairing: Pairing) => void): void {
    const { message } = (error ?? {}) as { message?: unknown };
    if (String(message).includes("expired")) return tell({ phase: "expired" });
    this.settle?.reject(error);
  }

  private letGo(topic: string): void {
    void this.client.disconnect({ topic, reason: { code: 6000, message: "" } }).catch(() => undefined);
  }
}
