/**
 * Finds replaced transactions of this browser. A wallet speeds up or cancels a transaction by a second one with the
 * same nonce.
 */

import type { Outbox, OwnTransaction } from "../server/outbox";
import type { Wallet } from "../wallets/wallet";

const CHECK_EVERY_MS = 4_000;
const WATCHED_FOR_MS = 24 * 60 * 60_000;

interface Events {
  /** A transaction with the same call and the hash `hash` replaced `sent`. */
  spedUp(sent: OwnTransaction, hash: string): void;
  /** A transaction with a different call replaced `sent`. */
  cancelled(sent: OwnTransaction): void;
}

export class Replacements {
  private isChecking = false;

  constructor(
    private readonly outbox: Outbox,
    private readonly wallets: () => readonly Wallet[],
    private readonly isReplaceable: (sent: OwnTransaction) => boolean,
    private readonly events: Events,
  ) {}

  start(): void {
    setInterval(() => void this.check(), CHECK_EVERY_MS);
  }

  /** Check each recent transaction once. Errors are ignored, because the next check comes soon. */
  async check(): Promise<void> {
    if (this.isChecking) return;
    this.isChecking = true;
    for (const sent of this.outbox.own) {
      const isRecent = Date.now() - sent.sentAt < WATCHED_FOR_MS;
      if (isRecent && this.isReplaceable(sent)) await this.checkOne(sent).catch(() => undefined);
    }
    this.isChecking = false;
  }

  private async checkOne(sent: OwnTransaction): Promise<void> {
    const listed = this.wallets().find(({ name }) => name === sent.wallet);
    const wallet = listed?.family === "evm" ? listed : listed?.sibling?.();
    if (!wallet?.transactionStatus || (await wallet.chain()) !== sent.chainId) return;
    const status = await wallet.transactionStatus(sent);
    if (status.is === "known" && sent.nonce === null) this.outbox.learn(sent.hash, status);
    if (status.is !== "replaced") return;
    if (status.isSameCall) this.events.spedUp(sent, status.hash);
    else this.events.cancelled(sent);
  }
}
