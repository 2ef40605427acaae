/** The batches in the outbox: those that this browser has sent to wallets. */

import type { Sender } from "./sender";

/** The payment of a batch. */
export interface SentBatch {
  /** The id that the page chose or, if the wallet returned another one, the wallet's id. */
  id: string;
  chainId: number;
  routeId: string;
}

export type BatchEnd = "unsent" | "reverted" | "partial" | "lost";

export interface Batch extends SentBatch {
  by: Sender;
  sentAt: number;
  /** Whether the customer has confirmed the batch, so that the wallet has it. */
  isConfirmed: boolean;
  /** Why the page no longer waits for the batch. Null while it waits. */
  ended: BatchEnd | null;
}

const OFFERED_AGAIN_MS = 2 * 60_000;
const GIVEN_UP_MS = 10 * 60_000;
/** Wallets may need a moment before they know a new batch. */
const KNOWN_AFTER_MS = 30_000;
export const WATCHED_FOR_MS = 24 * 60 * 60_000;

export function newBatch(sent: SentBatch, by: Sender): Batch {
  return { ...sent, by, sentAt: Date.now(), isConfirmed: false, ended: null };
}

/** Whether the page waits for the wallet to report a transaction. */
export function isAwaited({ isConfirmed, ended }: Batch): boolean {
  return isConfirmed && ended === null;
}

/** Whether it is time to offer paying again. */
export function mayLetGo({ sentAt }: Batch): boolean {
  return Date.now() - sentAt > OFFERED_AGAIN_MS;
}

/**
 * Whether a confirmed batch counts as lost. A batch counts as lost if it stays pending, or if the wallet no longer
 * knows it (`isUnknown`).
 */
export function isLost({ sentAt }: Batch, isUnknown: boolean): boolean {
  return Date.now() - sentAt > (isUnknown ? KNOWN_AFTER_MS : GIVEN_UP_MS);
}

/** The newest batch that ended without a transaction but may have paid. Null if there is none. */
export function doubtful(batches: readonly Batch[]): Batch | null {
  const found = batches.filter(({ ended, sentAt }) => ended !== null && Date.now() - sentAt < WATCHED_FOR_MS);
  return found[found.length - 1] ?? null;
}
