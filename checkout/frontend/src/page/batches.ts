/**
 * Follows batches in wallets of this browser. Each batch is followed until it has a transaction, or has ended without a
 * transaction.
 */

import { isLost, WATCHED_FOR_MS, type Batch, type BatchEnd } from "../server/batches";
import type { Outbox } from "../server/outbox";
import type { BatchOutcome } from "../wallets/batch";
import type { Wallet } from "../wallets/wallet";

const CHECK_EVERY_MS = 2_000;

interface Events {
  /**
   * Whether the page shows an open prompt. While it does, the page uses the prompt's result, and ignores the wallet's
   * report about the batch.
   */
  isPromptShown(): boolean;
  /** The batch is on the chain, in the transaction with this hash. */
  mined(batch: Batch, hash: string): void;
  /** The page no longer waits for the batch. `hash` is a transaction that may still have paid, or null. */
  ended(batch: Batch, hash: string | null): void;
  changed(): void;
}

export class BatchWatch {
  private isChecking = false;

  constructor(
    private readonly outbox: Outbox,
    private readonly wallets: () => readonly Wallet[],
    private readonly events: Events,
  ) {}

  start(): void {
    setInterval(() => void this.check(), CHECK_EVERY_MS);
  }

  /** Check each recent batch once, including lost batches: they can still appear on the chain. */
  async check(): Promise<void> {
    if (this.isChecking) return;
    this.isChecking = true;
    try {
      for (const batch of this.outbox.batches) {
        const isRecent = Date.now() - batch.sentAt < WATCHED_FOR_MS;
        const isAsked = !batch.isConfirmed && this.events.isPromptShown();
        if (isRecent && !isAsked) this.judge(batch, await this.outcome(batch));
      }
    } finally {
      this.isChecking = false;
    }
  }

  /** The result is null if the wallet is missing, doesn't respond or uses another account. */
  private async outcome({ id, chainId, by }: Batch): Promise<BatchOutcome | null> {
    const listed = this.wallets().find(({ name }) => name === by.wallet);
    const wallet = listed?.family === "evm" ? listed : listed?.sibling?.();
    return (await wallet?.batches?.outcome(id, chainId).catch(() => null)) ?? null;
  }

  private judge(batch: Batch, outcome: BatchOutcome | null): void {
    if (outcome?.is === "mined") return this.events.mined(batch, outcome.hash);
    const isKnown = outcome !== null && outcome.is !== "unknown";
    // The customer confirmed the batch, but the page didn't get the response: it was closed, or the wallet failed.
    if (isKnown && !batch.isConfirmed) this.outbox.confirmBatch(batch.id, batch.id);
    const end = endOf(batch, outcome);
    if (end !== null && end !== batch.ended) {
      if (end === "unsent") this.outbox.dropBatch(batch.id);
      else this.outbox.endBatch(batch.id, end);
      this.events.ended({ ...batch, ended: end }, outcome?.is === "partial" ? outcome.hash : null);
    } else if (isKnown && !batch.isConfirmed) {
      this.events.changed();
    }
  }
}

function endOf(batch: Batch, outcome: BatchOutcome | null): BatchEnd | null {
  switch (outcome?.is) {
    case "unsent":
    case "reverted":
    case "partial":
      return outcome.is;
    case "pending":
      return isLost(batch, false) ? "lost" : null;
    default:
      // Without a known confirmation, the batch doesn't count as lost: its prompt may still be open. Another warning
      // covers open prompts.
      return batch.isConfirmed && isLost(batch, outcome?.is === "unknown") ? "lost" : null;
  }
}
