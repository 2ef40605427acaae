/** Watches what this browser has sent: a wallet may speed it up or cancel it by another transaction with its nonce. */

import type { Outbox, OwnTransaction } from "../server/outbox";
import type { Wallet } from "../wallets/wallet";

const LOOK_EVERY_MS = 4_000;
const WATCHED_FOR_MS = 24 * 60 * 60_000;

interface Events {
  /** Another transaction that asks for the same took its place. */
  spedUp(sent: OwnTransaction, hash: string): void;
  /** Another transaction that asks for something else took its place. */
  cancelled(sent: OwnTransaction): void;
}

export class Replacements {
  private isLooking = false;

  constructor(
    private readonly outbox: Outbox,
    private readonly wallets: () => readonly Wallet[],
    private readonly isReplaceable: (sent: OwnTransaction) => boolean,
    private readonly events: Events,
  ) {}

  start(): void {
    setInterval(() => void this.look(), LOOK_EVERY_MS);
  }

  /** Asks the wallets once; one that can't be asked now is asked again later. */
  async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    for (const sent of this.outbox.own) {
      const isRecent = Date.now() - sent.sentAt < WATCHED_FOR_MS;
      if (isRecent && this.isReplaceable(sent)) await this.follow(sent).catch(() => undefined);
    }
    this.isLooking = false;
  }

  private async follow(sent: OwnTransaction): Promise<void> {
    const listed = this.wallets().find(({ name }) => name === sent.wallet);
    const wallet = listed?.family === "evm" ? listed : listed?.sibling?.();
    if (!wallet?.follow || (await wallet.chain()) !== sent.chainId) return;
    const fate = await wallet.follow(sent);
    if (fate.is === "there" && sent.nonce === null) this.outbox.learn(sent.hash, fate);
    if (fate.is !== "replaced") return;
    if (fate.isSameCall) this.events.spedUp(sent, fate.hash);
    else this.events.cancelled(sent);
  }
}
