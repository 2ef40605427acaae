/** The screens after a transaction is sent, and those of a request that can no longer be paid. */

import { copy } from "./copy";
import { button, el, externalLink, linkButton, webUrl, type Child } from "./dom";
import { isZero, plain } from "./money";
import type { Screen } from "./panel";
import { actions, money, noticeBox, paragraph, partialBox, screen } from "./screens";
import { stepList } from "./steps";
import type { Checkout, Payment } from "./types";

const CHECK_AGAIN = new Set(["transaction_not_found", "not_verifiable", "verification_timed_out"]);
const NEVER_PAY_AGAIN = new Set(["transaction_not_bound"]);

export function isOpen(payment: Payment): boolean {
  return payment.status === "pending" || payment.status === "processing";
}

/** The newest payment, by creation. */
export function latest(payments: Payment[]): Payment | null {
  return payments.reduce<Payment | null>(
    (newest, payment) => (!newest || payment.created_at >= newest.created_at ? payment : newest),
    null,
  );
}

/** A hash that only this browser knows yet. */
export function submittingScreen(checkout: Checkout, hash: string, isRetrying: boolean): Screen {
  const notice = isRetrying ? noticeBox({ tone: "error", text: copy.submitRetrying }) : null;
  const steps = stepList([
    [copy.stepSent, "current"],
    [copy.stepSeen, "todo"],
    [confirmationsText(null), "todo"],
    [copy.stepPaid, "todo"],
  ]);
  const url = explorerUrl(checkout, hash);
  return screen("processing", copy.processing, [
    notice ?? paragraph(copy.submitting),
    steps,
    transactionBox(hash, url),
  ]);
}

export function processingScreen(checkout: Checkout, payment: Payment): Screen {
  // "processing" says only that we have begun to look (spec 3.2).
  const isSeen = payment.confirmations > 0;
  const confirmations = confirmationsText(payment);
  const steps = stepList([
    [copy.stepSent, "done"],
    [copy.stepSeen, isSeen ? "done" : "current"],
    [confirmations, isSeen ? "current" : "todo"],
    [copy.stepPaid, "todo"],
  ]);
  return screen(
    "processing",
    copy.processing,
    [
      partialBox(checkout),
      paragraph(copy.processingHelp),
      steps,
      payment.status_detail ? el("p", { class: "help help--small" }, payment.status_detail) : null,
      transactionBox(payment.transaction_hash, payment.explorer_url),
    ],
    isSeen ? confirmations : copy.stepSent,
  );
}

export function completedScreen(checkout: Checkout, secondsLeft: number | null, stay: () => void): Screen {
  const { merchant } = checkout;
  const back = webUrl(checkout.redirect_url);
  const over = isZero(checkout.amount_overpaid) ? null : money(checkout.amount_overpaid, checkout);
  const paid = checkout.payments.filter((payment) => payment.status === "completed");
  return screen("completed", copy.paid, [
    tick(),
    paragraph(copy.paidHelp(money(checkout.amount_paid, checkout), merchant.name)),
    checkout.paid_late ? paragraph(copy.paidLate) : null,
    over ? noticeBox({ tone: "info", text: copy.overpaid(over, merchant.name) }) : null,
    back ? actions(linkButton("return", "primary", back, copy.returnTo(merchant.name))) : paragraph(copy.mayClose),
    leavingNote(merchant.name, secondsLeft, stay),
    ...paid.map((payment) => transactionBox(payment.transaction_hash, payment.explorer_url)),
  ]);
}

export function failedScreen(payment: Payment, payAgain: () => void, checkAgain: () => void): Screen {
  const code = payment.failure_code ?? "other";
  const what = payment.failure_message || payment.status_detail || copy.failedDefault;
  const canCheck = CHECK_AGAIN.has(code) && payment.retries_left > 0;
  const canPay = !NEVER_PAY_AGAIN.has(code);
  return screen(
    "failed",
    copy.failed,
    [
      noticeBox({ tone: "error", text: what }),
      paragraph(copy.advice[code] ?? copy.advice.other ?? ""),
      actions(
        canCheck && button("check-again", "primary", copy.checkAgain, checkAgain),
        button("pay-again", canCheck || !canPay ? "quiet" : "primary", copy.payAgain, payAgain),
      ),
      transactionBox(payment.transaction_hash, payment.explorer_url),
    ],
    what,
  );
}

export function timeUpScreen(): Screen {
  return screen("time-up", copy.timeUp, [paragraph(copy.timeUpHelp)]);
}

export function expiredScreen(checkout: Checkout): Screen {
  const { merchant } = checkout;
  const back = webUrl(checkout.cancel_url);
  const total = money(checkout.amount, checkout);
  const part = isZero(checkout.amount_paid)
    ? null
    : copy.expiredPart(plain(checkout.amount_paid), total, merchant.name);
  return screen("expired", copy.expired, [
    part ? noticeBox({ tone: "info", text: part }) : null,
    paragraph(part ? copy.sendNothing : copy.expiredHelp(merchant.name)),
    back && actions(linkButton("return", "primary", back, copy.returnTo(merchant.name))),
  ]);
}

export function cancelledScreen(checkout: Checkout, secondsLeft: number | null, stay: () => void): Screen {
  const { merchant } = checkout;
  const back = webUrl(checkout.cancel_url);
  const arrived = isZero(checkout.amount_paid)
    ? null
    : copy.cancelledPaid(plain(checkout.amount_paid), money(checkout.amount, checkout), merchant.name);
  return screen("cancelled", copy.cancelled, [
    arrived ? noticeBox({ tone: "info", text: arrived }) : null,
    paragraph(arrived ? copy.sendNothing : copy.cancelledHelp(merchant.name)),
    back && actions(linkButton("return", "primary", back, copy.returnTo(merchant.name))),
    arrived ? null : leavingNote(merchant.name, secondsLeft, stay),
  ]);
}

function leavingNote(merchant: string, secondsLeft: number | null, stay: () => void): Child {
  if (secondsLeft === null) return null;
  return el(
    "div",
    { class: "leaving" },
    el("span", {}, copy.goingBack(merchant, secondsLeft)),
    button("stay", "quiet", copy.stay, stay),
  );
}

function confirmationsText(payment: Payment | null): string {
  if (!payment?.confirmations_required) return copy.stepFinality;
  const done = Math.min(payment.confirmations, payment.confirmations_required);
  return copy.stepConfirmations(done, payment.confirmations_required);
}

function transactionBox(hash: string, url: string | null): HTMLElement {
  const isLink = webUrl(url) !== null;
  return el(
    "div",
    { class: "transaction" },
    el("span", { class: "transaction__label" }, copy.transaction),
    el("code", { class: "address" }, hash),
    isLink && externalLink(url, copy.viewOnExplorer, "explorer-link"),
  );
}

function explorerUrl(checkout: Checkout, hash: string): string | null {
  const base = webUrl(checkout.chain.explorer_url);
  return base && `${base.replace(/\/+$/, "")}/tx/${encodeURIComponent(hash)}`;
}

function tick(): HTMLElement {
  return el("div", { class: "tick", "aria-hidden": "true" });
}
