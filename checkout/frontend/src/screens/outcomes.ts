/** The final screens: paid, failed, expired, cancelled or unavailable. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { button, el, linkButton, webUrl, type Child } from "../dom";
import { messageFor } from "../language";
import { withoutMarks } from "../marks";
import { isZero, less, plain } from "../money";
import { failureOf } from "../server/progress";
import type { Checkout, Payment } from "../server/types";
import type { Screen } from "./panel";
import { actions, money, noticeBox, paragraph, priceText, screen, smallPrint, spinner } from "./parts";
import { shopSite, supportLine, transactionBoxes } from "./progress";
import { providerName } from "./providers";

const CHECK_AGAIN = new Set([
  "transaction_not_found",
  "not_verifiable",
  "verification_timed_out",
  "swap_partial",
  "swap_refunded",
  "swap_failed",
]);
const NEVER_PAY_AGAIN = new Set(["transaction_not_bound", "swap_partial", "swap_failed", "wrong_token"]);

/** Whether a failed swap has spent the customer's money: it delivered something else than the requested payment. */
function isSpent({ type, failure_code, destination_transaction_hash: delivered }: Payment): boolean {
  return type === "swap" && Boolean(delivered) && failure_code !== "swap_refunded";
}

/** The seconds until the page returns to the shop, and the length of the countdown. Null if the page stays. */
export interface Countdown {
  secondsLeft: number | null;
  seconds: number;
}

/** The actions on the failure screen. */
export interface AfterFailure {
  payAgain(): void;
  checkAgain(): void;
}

/** The newest payment, by creation. */
export function latest(payments: Payment[]): Payment | null {
  return payments.reduce<Payment | null>(
    (newest, payment) => (!newest || payment.created_at >= newest.created_at ? payment : newest),
    null,
  );
}

/** Whether the customer overpaid. A swap's surplus above its minimum doesn't count. */
export function isPaidTooMuch(checkout: Checkout): boolean {
  return checkout.status === "completed" && !isZero(checkout.amount_overpaid) && !isExtraFromConversion(checkout);
}

/**
 * Whether the page shows the paid amount instead of the requested amount. That is so after an overpayment, even if the
 * excess was refunded.
 */
export function isWholeShown(checkout: Checkout): boolean {
  const { status, amount, amount_paid } = checkout;
  const isBeyond = status === "completed" && BigInt(amount_paid.raw) > BigInt(amount.raw);
  return isPaidTooMuch(checkout) || (isBeyond && isRefunded(checkout) && !isExtraFromConversion(checkout));
}

/** Whether the page lists a refund. */
function isRefunded({ refunds }: Checkout): boolean {
  return (refunds ?? []).length > 0;
}

/**
 * Whether the customer overpaid only because a swap delivered more than expected. That is so if the newest completed
 * payment is a swap, and the other payments alone didn't pay the request.
 */
function isExtraFromConversion({ amount, amount_paid, payments }: Checkout): boolean {
  const last = payments.find((payment) => payment.status === "completed");
  if (last?.type !== "swap") return false;
  return BigInt(amount_paid.raw) - BigInt(last.amount_received?.raw ?? 0) < BigInt(amount.raw);
}

export function completedScreen(
  checkout: Checkout,
  chains: Chains,
  { secondsLeft, seconds }: Countdown,
  stay: () => void,
): Screen {
  const { merchant } = checkout;
  const back = webUrl(checkout.redirect_url);
  // The overpaid amount. A part of it may have been refunded since.
  const over = isZero(checkout.amount_overpaid) ? null : money(less(checkout.amount_paid, checkout.amount), checkout);
  const paid = checkout.payments.filter((payment) => payment.status === "completed");
  const isTooMuch = isPaidTooMuch(checkout);
  const help = copy.paidHelp(money(checkout.amount_paid, checkout), merchant.name);
  const excess = over && (isTooMuch ? copy.overpaid(over) : copy.moreThanAsked(over));
  const refund = isTooMuch && refundButton(checkout);
  const leaving = secondsLeft === null ? "" : copy.goingBack(merchant.name, seconds);
  return screen(
    "completed",
    isTooMuch ? copy.overpaidHeading : copy.paid,
    [
      tick(),
      paidAmount(checkout),
      paragraph(help),
      checkout.paid_late ? paragraph(copy.paidLate) : null,
      excess && (isTooMuch ? noticeBox({ tone: "info", text: excess }) : smallPrint(excess)),
      isTooMuch && supportLine(checkout),
      !back && paragraph(copy.mayClose),
      waysOut(checkout, refund, back),
      leavingNote(merchant.name, secondsLeft, stay),
      details(paid.flatMap((payment) => transactionBoxes(payment, chains, paid.length > 1 ? partOf(payment, checkout) : ""))),
    ],
    // Screen readers announce this text once. Without this text, they would announce each second of the countdown.
    [help, isTooMuch && excess, leaving].filter(Boolean).join(" "),
  );
}

/** The amount of one of several payments. */
function partOf({ amount_received: amount }: Payment, checkout: Checkout): string {
  return amount ? money(amount, checkout) : "";
}

/** The paid amount with the price in a currency, if the request has one. */
function paidAmount(checkout: Checkout): HTMLElement {
  const { amount, amount_paid } = checkout;
  const isWhole = isWholeShown(checkout);
  const price = isWhole ? null : priceText(checkout);
  const small = price && el("small", {}, price);
  return el("p", { class: "paid-amount" }, el("strong", {}, money(isWhole ? amount_paid : amount, checkout)), small);
}

/** The transactions, in a section that can be opened. */
function details(boxes: Child[]): HTMLElement {
  return el("details", { class: "more" }, el("summary", {}, copy.transactionDetails), ...boxes);
}

/**
 * The buttons to request a refund and to return to the shop. With a button about a refund, the button to the shop is
 * secondary.
 */
function waysOut({ merchant, refunds }: Checkout, refund: Node | false, back: string | null): Child {
  if (!refund && !back) return null;
  const isSecond = refund !== false || refunds?.some(({ status }) => status === "requires_address");
  return actions(refund, back && linkButton("return", isSecond ? "secondary" : "primary", back, copy.returnTo(merchant.name)));
}

/**
 * A button that contacts the merchant about a refund. There is no button if a refund exists, or if the merchant has no
 * contact.
 */
function refundButton(checkout: Checkout): Node | false {
  const { merchant, shortcode } = checkout;
  if (isRefunded(checkout)) return false;
  return contactLink(checkout, "ask-refund", "primary", copy.askRefund(merchant.name), copy.refundSubject(shortcode));
}

export function failedScreen(payment: Payment, checkout: Checkout, chains: Chains, after: AfterFailure): Screen {
  const code = failureOf(payment) ?? "other";
  const what = failureText(payment, chains) || copy.failedDefault;
  // The money has arrived, but nothing links it to the request, so the merchant has to accept it. The page for manual
  // transfers warned about that.
  const isUnbound = code === "transaction_not_bound";
  const text = (isUnbound && foundText(payment, checkout)) || what;
  const prove = provePage(payment, checkout);
  const canPay = !NEVER_PAY_AGAIN.has(code) && !isSpent(payment);
  const canCheck = canCheckAgain(payment);
  // If the provider has refunded the customer, another check can't help. So the first button is to pay again.
  const isCheckFirst = canCheck && code !== "swap_refunded";
  return screen(
    "failed",
    isUnbound ? copy.notBound : copy.failed,
    [
      noticeBox({ tone: isUnbound ? "info" : "error", text }),
      paragraph(isUnbound ? copy.notBoundHelp(checkout.merchant.name) : (copy.advice[code] ?? copy.advice.other ?? "")),
      supportLine(checkout),
      actions(
        prove !== null && linkButton("sign-for-it", "primary", prove, copy.signForIt),
        isCheckFirst && button("check-again", "primary", copy.checkAgain, after.checkAgain),
        !canPay && contactButton(checkout, isUnbound || isCheckFirst ? "secondary" : "primary"),
        canPay && button("pay-again", isCheckFirst ? "quiet" : "primary", copy.payAgain, after.payAgain),
        // Always offer a way to pay, because the merchant may tell the customer to pay again.
        !canPay && button("pay-again", "quiet", copy.otherWays, after.payAgain),
        canCheck && !isCheckFirst && button("check-again", "quiet", copy.checkAgain, after.checkAgain),
      ),
      ...transactionBoxes(payment, chains),
    ],
    text,
  );
}

/**
 * The reason why the payment failed. The text is empty if the reason is unknown, or if the payment is still being
 * verified.
 */
export function failureText(payment: Payment, chains: Chains): string {
  const code = failureOf(payment) ?? "other";
  if (code === "swap_refunded" && payment.provider) {
    return copy.swapRefunded(providerName(payment.provider), chains.name(payment.chain_id));
  }
  return messageFor("failure", code, payment.failure_message ?? "");
}

/** The text about a transfer that arrived but isn't linked to the request. The sender can link it by a signature. */
export function foundText(payment: Payment, checkout: Checkout): string | null {
  if (payment.sender_signed_at) return copy.signedWaits(checkout.merchant.name);
  if (!payment.amount || provePage(payment, checkout) === null) return null;
  return copy.foundTransfer(money(payment.amount, checkout), checkout.merchant.name);
}

/** The URL of the page where the sender signs that the transfer pays this request. Null if a signature can't help. */
export function provePage(payment: Payment, { shortcode, chain_id: chainId }: Checkout): string | null {
  const isRefund = document.getElementById("checkout")?.dataset["refund"] !== undefined;
  const isUnbound = failureOf(payment) === "transaction_not_bound" && payment.chain_id === chainId;
  if (!isUnbound || isRefund || payment.sender_signed_at) return null;
  return `/pay/${shortcode}/sent/${payment.id}${location.search}`;
}

/** A button that contacts the merchant. The subject of the e-mail is the payment code. */
function contactButton(checkout: Checkout, kind: "primary" | "secondary"): Node | false {
  return contactLink(checkout, "contact", kind, copy.support(checkout.merchant.name), checkout.shortcode);
}

/** A link to the merchant's support page or e-mail address. If both are missing, the link leads to the shop's site. */
function contactLink(
  checkout: Checkout,
  id: string,
  kind: "primary" | "secondary",
  label: string,
  subject: string,
): Node | false {
  const { merchant } = checkout;
  const page = webUrl(merchant.support_url) ?? (merchant.support_email ? null : shopSite(checkout));
  if (page) return linkButton(id, kind, page, label);
  if (!merchant.support_email) return false;
  const address = encodeURIComponent(merchant.support_email).replace("%40", "@");
  return linkButton(id, kind, `mailto:${address}?subject=${encodeURIComponent(withoutMarks(subject))}`, label);
}

/** Whether the failed payment can be verified again. */
export function canCheckAgain(payment: Payment): boolean {
  return payment.status === "failed" && CHECK_AGAIN.has(payment.failure_code ?? "") && payment.retries_left > 0;
}

export function timeUpScreen(): Screen {
  return screen("time-up", copy.timeUp, [spinner(), paragraph(copy.timeUpHelp)], copy.timeUpHelp);
}

/** The screen if nothing can be paid, because the requested token or its chain is inactive. */
export function unavailableScreen(checkout: Checkout, notices: Child[]): Screen {
  if (isZero(checkout.amount_remaining)) {
    const arrived = arrivedText(checkout);
    return screen("unavailable", copy.sendNothing, [noticeBox({ tone: "info", text: arrived }), supportLine(checkout)], arrived);
  }
  const heading = copy.notNow(checkout.token.symbol, checkout.chain.name);
  const nodes = [...notices, paragraph(copy.sendNothing), supportLine(checkout)];
  return screen("unavailable", heading, nodes, copy.sendNothing);
}

/** "3.00 of 10.00 USDC arrived. Contact the shop about your money." After a refund, return only the first sentence. */
function arrivedText(checkout: Checkout): string {
  const total = money(checkout.amount, checkout);
  if (isRefunded(checkout)) return copy.arrivedPart(plain(checkout.amount_paid), total);
  return copy.expiredPart(plain(checkout.amount_paid), total, checkout.merchant.name);
}

/** `warning`: about a transfer that nothing links to the request. */
export function expiredScreen(checkout: Checkout, warning: HTMLElement | null = null): Screen {
  const { merchant } = checkout;
  const back = webUrl(checkout.cancel_url);
  const part = isZero(checkout.amount_paid) ? null : arrivedText(checkout);
  const refund = part !== null && refundButton(checkout);
  return screen(
    "expired",
    copy.expired,
    [
      part ? noticeBox({ tone: "info", text: part }) : null,
      warning,
      paragraph(part ? copy.sendNothing : copy.expiredHelp(merchant.name)),
      checkout.deposit_address ? paragraph(copy.depositLate(merchant.name)) : null,
      supportLine(checkout),
      waysOut(checkout, refund, back),
    ],
    part ?? "",
  );
}

/** `warning`: about a transfer that nothing links to the request. */
export function cancelledScreen(
  checkout: Checkout,
  secondsLeft: number | null,
  stay: () => void,
  warning: HTMLElement | null = null,
): Screen {
  const { merchant } = checkout;
  const back = webUrl(checkout.cancel_url);
  const arrived = isZero(checkout.amount_paid)
    ? null
    : isRefunded(checkout)
      ? arrivedText(checkout)
      : copy.cancelledPaid(plain(checkout.amount_paid), money(checkout.amount, checkout), merchant.name);
  const refund = arrived !== null && refundButton(checkout);
  return screen(
    "cancelled",
    copy.cancelled,
    [
      arrived ? noticeBox({ tone: "info", text: arrived }) : null,
      warning,
      paragraph(arrived ? copy.sendNothing : copy.cancelledHelp(merchant.name)),
      arrived ? null : paragraph(copy.cancelledNext(merchant.name)),
      supportLine(checkout),
      waysOut(checkout, refund, back),
      arrived ? null : leavingNote(merchant.name, secondsLeft, stay),
    ],
    arrived ?? "",
  );
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

function tick(): HTMLElement {
  return el("div", { class: "tick", "aria-hidden": "true" });
}
