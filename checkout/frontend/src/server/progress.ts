/** Classifies payments for the page. Anyone with the link can submit a hash, so a hash alone proves nothing. */

import type { OwnTransaction } from "./outbox";
import type { Payment } from "./types";

/** The reason why a submitted transaction is not in progress. Only the browser that sent it knows `cancelled`. */
export type WarningKind = "unseen" | "unbound" | "unpaid" | "cancelled" | "signers";

export interface PaymentWarning {
  payment: Payment;
  kind: WarningKind;
}

const LET_GO_AFTER_MS = 2 * 60_000;

export function isOpen({ status }: Payment): boolean {
  return status === "pending" || status === "processing";
}

/** The payment's failure code. Until the payment's block is confirmed, return the likely code. */
export function failureOf({ failure_code: code, likely_failure: likely }: Payment): string | null {
  return code ?? likely ?? null;
}

/** Whether the payment waits for other signers of the wallet. Meanwhile, the customer can pay in another way. */
function isAwaitingSigners(payment: Payment): boolean {
  return isOpen(payment) && payment.is_awaiting_signers === true && !payment.likely_failure;
}

/**
 * The current hash of this browser's transaction, if the server found that another transaction replaced it. Otherwise
 * null.
 */
export function followed({ hash }: OwnTransaction, payments: readonly Payment[]): string | null {
  const payment = payments.find(({ replaced_hashes: replaced }) => replaced?.includes(hash));
  return payment && payment.transaction_hash !== hash ? payment.transaction_hash : null;
}

/**
 * Whether the page should wait for the payment. A node must have seen it, and it must be bound or from this browser.
 * The service sends signed transfers, so no node needs to have seen them.
 */
export function isUnderWay(payment: Payment, own: readonly OwnTransaction[]): boolean {
  if (!isOpen(payment) || payment.likely_failure) return false;
  if (payment.sponsored) return true;
  if (!payment.is_seen) return false;
  const mine = ownOf(payment, own);
  return mine ? !mine.isCancelled : payment.is_bound;
}

/** The newest payment that needs a warning, or null. A payment that this browser submitted takes precedence. */
export function findWarning(
  payments: readonly Payment[],
  own: readonly OwnTransaction[],
  isKnownHere: (payment: Payment) => boolean,
): PaymentWarning | null {
  const warnings: PaymentWarning[] = [];
  for (const payment of payments) {
    if (payment.status === "completed") break;
    const kind = warningKind(payment, own);
    if (kind) warnings.push({ payment, kind });
  }
  return warnings.find(({ payment }) => isKnownHere(payment)) ?? warnings[0] ?? null;
}

function warningKind(payment: Payment, own: readonly OwnTransaction[]): WarningKind | null {
  if (isUnderWay(payment, own) || own.some(({ replaced }) => replaced.includes(payment.transaction_hash ?? ""))) return null;
  if (ownOf(payment, own)?.isCancelled) return "cancelled";
  if (isAwaitingSigners(payment)) return "signers";
  const code = failureOf(payment);
  // The payment is pending, so the server has not looked it up yet.
  const isMissing = !payment.is_seen && payment.status !== "pending";
  if (code === "transaction_not_found" || (code === null && isMissing)) return "unseen";
  return code === null ? "unbound" : "unpaid";
}

export function ownOf(payment: Payment, own: readonly OwnTransaction[]): OwnTransaction | null {
  return own.find(({ hash }) => hash === payment.transaction_hash) ?? null;
}

/**
 * Return this browser's newest transaction that no node has seen yet. If the customer has stopped waiting for it, it
 * doesn't count.
 */
export function awaited(payments: readonly Payment[], own: readonly OwnTransaction[]): OwnTransaction | null {
  const waiting = own.filter((sent) => {
    if (sent.isCancelled || sent.isLetGo) return false;
    const payment = payments.find(({ transaction_hash: hash }) => hash === sent.hash);
    if (payment && isAwaitingSigners(payment)) return false;
    return !payment || (isOpen(payment) && !payment.is_seen && !payment.likely_failure);
  });
  return waiting[waiting.length - 1] ?? null;
}

/** Whether the transaction has been unseen for so long that the page offers to pay again. */
export function mayLetGo({ sentAt }: OwnTransaction): boolean {
  return Date.now() - sentAt > LET_GO_AFTER_MS;
}

/** Whether another transaction with the same nonce may still replace this one. */
export function isReplaceable(sent: OwnTransaction, payments: readonly Payment[]): boolean {
  const payment = payments.find(({ transaction_hash: hash }) => hash === sent.hash);
  if (sent.isCancelled || payment?.status === "completed" || (payment?.confirmations ?? 0) > 0) return false;
  if (payment && isAwaitingSigners(payment)) return false;
  return ["transaction_not_found", "transaction_replaced", null].includes(payment ? failureOf(payment) : null);
}
