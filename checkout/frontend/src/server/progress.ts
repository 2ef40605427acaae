/** What the page may say of a payment. Anyone with the link can submit a hash, so most of them prove nothing. */

import type { OwnTransaction } from "./outbox";
import type { Payment } from "./types";

/** Why a submitted transaction is not on its way; `cancelled` is known only where it was sent. */
export type Doubt = "unseen" | "unbound" | "unpaid" | "cancelled";

export interface Doubtful {
  payment: Payment;
  doubt: Doubt;
}

const LET_GO_AFTER_MS = 2 * 60_000;

export function isOpen({ status }: Payment): boolean {
  return status === "pending" || status === "processing";
}

/** The code that it failed with, or that it will fail with once its block is deep enough. */
export function failureOf({ failure_code: code, likely_failure: likely }: Payment): string | null {
  return code ?? likely ?? null;
}

/** Whether it is one to wait for: seen and bound, or seen and sent by a wallet of this browser. */
export function isUnderWay(payment: Payment, own: readonly OwnTransaction[]): boolean {
  if (!isOpen(payment) || !payment.is_seen || payment.likely_failure) return false;
  const mine = ownOf(payment, own);
  return mine ? !mine.isCancelled : payment.is_bound;
}

/** The newest payment that is not on its way, those that this browser knows of first; null where there is none. */
export function doubtful(
  payments: readonly Payment[],
  own: readonly OwnTransaction[],
  isKnownHere: (hash: string) => boolean,
): Doubtful | null {
  const found: Doubtful[] = [];
  for (const payment of payments) {
    if (payment.status === "completed") break;
    const doubt = doubtAbout(payment, own);
    if (doubt) found.push({ payment, doubt });
  }
  return found.find(({ payment }) => isKnownHere(payment.transaction_hash)) ?? found[0] ?? null;
}

function doubtAbout(payment: Payment, own: readonly OwnTransaction[]): Doubt | null {
  if (isUnderWay(payment, own) || own.some(({ replaced }) => replaced.includes(payment.transaction_hash))) return null;
  if (ownOf(payment, own)?.isCancelled) return "cancelled";
  const code = failureOf(payment);
  // While it is pending, the server has not looked for it.
  const isMissing = !payment.is_seen && payment.status !== "pending";
  if (code === "transaction_not_found" || (code === null && isMissing)) return "unseen";
  return code === null ? "unbound" : "unpaid";
}

export function ownOf(payment: Payment, own: readonly OwnTransaction[]): OwnTransaction | null {
  return own.find(({ hash }) => hash === payment.transaction_hash) ?? null;
}

/** This browser's newest transaction that the network is still to see, unless its sender has stopped waiting. */
export function awaited(payments: readonly Payment[], own: readonly OwnTransaction[]): OwnTransaction | null {
  const waiting = own.filter((sent) => {
    if (sent.isCancelled || sent.isLetGo) return false;
    const payment = payments.find(({ transaction_hash: hash }) => hash === sent.hash);
    return !payment || (isOpen(payment) && !payment.is_seen && !payment.likely_failure);
  });
  return waiting[waiting.length - 1] ?? null;
}

/** Whether it is time to offer paying again. */
export function mayLetGo({ sentAt }: OwnTransaction): boolean {
  return Date.now() - sentAt > LET_GO_AFTER_MS;
}

/** Whether another transaction may still take its place. */
export function isReplaceable(sent: OwnTransaction, payments: readonly Payment[]): boolean {
  const payment = payments.find(({ transaction_hash: hash }) => hash === sent.hash);
  if (sent.isCancelled || payment?.status === "completed" || (payment?.confirmations ?? 0) > 0) return false;
  return ["transaction_not_found", "transaction_replaced", null].includes(payment ? failureOf(payment) : null);
}
