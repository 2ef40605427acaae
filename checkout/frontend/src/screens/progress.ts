/** The screens of a payment under way. The payment is direct, or a provider moves it to another network. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { button, el, externalLink, webUrl, type Child } from "../dom";
import { FAMILIES } from "../families";
import { messageFor } from "../language";
import type { OwnTransaction } from "../server/outbox";
import type { Checkout, Payment } from "../server/types";
import type { Screen } from "./panel";
import { estimateLine, isSlow, type Estimate } from "./estimate";
import { actions, noticeBox, paragraph, partialBox, screen, smallPrint } from "./parts";
import { providerName } from "./providers";
import { stepList, type StepState } from "./steps";

const LONG_CROSSING_MS = 15 * 60_000;
const LONG_UNSEEN_MS = 5 * 60_000;
/** Confirmations are late if they take this much longer than their blocks should. */
const LONG_CONFIRMING_MS = 5 * 60_000;
/** The block time of the slowest network in the catalogue. */
const SLOWEST_BLOCK_MS = 15_000;

export interface Following {
  checkout: Checkout;
  chains: Chains;
  /** The current time by the server's clock. */
  now: number;
  /** The estimate for a transaction that this browser sent. */
  estimate?: Estimate | null;
}

/** Whether a payment takes longer than usual. */
export function isTakingLong(payment: Payment, chains: Chains, now: number): boolean {
  const crossing = isCrossing(payment) ? LONG_CROSSING_MS : 0;
  const isToConfirm = crossing ? isDelivered(payment) : payment.confirmations > 0;
  const rest = isToConfirm ? usualConfirming(payment, chains) : crossing ? 0 : LONG_UNSEEN_MS;
  return now - Date.parse(payment.created_at) > crossing + rest;
}

function usualConfirming(payment: Payment, chains: Chains): number {
  const { needed } = depthOf(payment);
  if (needed !== null) return LONG_CONFIRMING_MS + needed * SLOWEST_BLOCK_MS;
  const family = chains.get(payment.destination_chain_id)?.chain_type ?? "";
  return FAMILIES[family]?.longFinalityMs ?? LONG_CONFIRMING_MS;
}

/** The state of this browser's transaction before a node has seen it. */
export interface Waiting {
  /** The server doesn't have its hash yet. */
  isUnsent: boolean;
  /** The server can't be reached. */
  isRetrying: boolean;
  /** Lets the customer pay again if the transaction was not sent. Null while the page doesn't offer that. */
  payAgain: (() => void) | null;
}

/** The screen for a transaction of this browser that no node has seen yet. */
export function waitingScreen(sent: OwnTransaction, { isUnsent, isRetrying, payAgain }: Waiting, following: Following): Screen {
  const { checkout, chains, estimate = null } = following;
  const { chainId, hash } = sent;
  const name = chains.name(chainId);
  const reached = isUnsent ? 0 : 1;
  const steps = chainId === checkout.chain_id ? directSteps(null, reached) : crossingSteps(name, checkout.chain.name, null, reached);
  const isFailing = isUnsent && isRetrying;
  const isLong = !isUnsent && estimate !== null && isSlow(estimate);
  const late = payAgain ? copy.notSeen : isLong ? copy.slow.unseen(name) : "";
  const notices = [
    isFailing && noticeBox({ tone: "error", text: copy.submitRetrying }),
    late && noticeBox({ tone: "info", text: late }),
  ];
  const label = chainId === checkout.chain_id ? copy.transaction : copy.transactionOn(name);
  return screen(
    late ? "late" : "processing",
    late ? copy.late : copy.processing,
    [
      ...notices,
      !isFailing && !late && paragraph(isUnsent ? copy.submitting : copy.waiting),
      !late && estimate && estimateLine(estimate),
      stepList(steps),
      payAgain && actions(button("not-sent", "secondary", copy.notSent, payAgain)),
      transactionBox(label, hash, chains.transactionUrl(chainId, hash)),
    ],
    late || (isUnsent ? "" : copy.waiting),
  );
}

/** The screen after the customer has signed a transfer in this browser, until the server has the signature. */
export function signedScreen(isRetrying: boolean, { estimate = null }: Following): Screen {
  const text = isRetrying ? copy.sponsored.retrying : copy.sponsored.submitting;
  return screen(
    "processing",
    copy.processing,
    [
      isRetrying ? noticeBox({ tone: "error", text }) : paragraph(text),
      !isRetrying && estimate && estimateLine(estimate),
      stepList(signedSteps(null)),
    ],
    text,
  );
}

export function processingScreen(payment: Payment, following: Following): Screen {
  const { checkout, chains, now, estimate = null } = following;
  const [from, to] = [chains.name(payment.chain_id), chains.name(payment.destination_chain_id)];
  const steps = isCrossing(payment) ? crossingSteps(from, to, payment) : payment.sponsored ? signedSteps(payment) : directSteps(payment);
  const isVeryLong = isTakingLong(payment, chains, now);
  const isLong = isVeryLong || (estimate !== null && isSlow(estimate));
  const current = steps.find(([, state]) => state === "current" || state === "awaited")?.[0] ?? copy.stepSent;
  const isUnseen = !isCrossing(payment) && payment.confirmations === 0;
  // Another account sends this transaction, so the customer can't speed it up.
  const isToSpeedUp = isUnseen && !payment.sponsored;
  const long = !isVeryLong ? slowText(payment, chains) : isToSpeedUp ? copy.takingLongUnseen : copy.takingLong;
  return screen(
    isLong ? "late" : "processing",
    isLong ? copy.late : copy.processing,
    [
      partialBox(checkout),
      isLong && noticeBox({ tone: "info", text: long }),
      paragraph(isCrossing(payment) ? copy.crossingHelp(from, to) : copy.processingHelp),
      !isLong && estimate && estimateLine(estimate),
      stepList(steps),
      payment.status_detail ? smallPrint(detailOf(payment, payment.status_detail)) : null,
      isLong && supportLine(checkout),
      ...transactionBoxes(payment, chains),
    ],
    isLong ? long : current,
  );
}

/** The text about the delay, and that the money is safe. */
function slowText(payment: Payment, chains: Chains): string {
  const [from, to] = [chains.name(payment.chain_id), chains.name(payment.destination_chain_id)];
  if (payment.confirmations === 0 && !payment.provider_status) return copy.slow.unseen(from);
  const isDue = isCrossing(payment) && !isDelivered(payment);
  return isDue ? copy.slow.crossing(providerName(payment.provider), to) : copy.slow.confirming(to);
}

/**
 * Links to the customer's transaction, the delivery, and the provider's status page. `amount` is the payment's amount
 * if the page lists several payments.
 */
export function transactionBoxes(payment: Payment, chains: Chains, amount = ""): Child[] {
  const { destination_transaction_hash: delivered, provider_url: providerUrl } = payment;
  const isTwo = isCrossing(payment) || Boolean(delivered && delivered !== payment.transaction_hash);
  const isUnsent = payment.transaction_hash === null && payment.sponsored === true;
  const own = payment.transaction_hash === null && !isUnsent ? copy.depositReceived : copy.transaction;
  const name = isTwo ? copy.transactionOn(chains.name(payment.chain_id)) : own;
  const label = [name, amount].filter(Boolean).join(" · ");
  const linkText = isTwo && webUrl(providerUrl ?? null) ? copy.followAt(providerName(payment.provider)) : null;
  const link = linkText && externalLink(providerUrl ?? null, linkText, "provider-link");
  const beingSent = isUnsent && payment.status !== "failed" && copy.sponsored.beingSent;
  if (isUnsent && !beingSent) return [];
  const first = transactionBox(label, payment.transaction_hash, payment.explorer_url, beingSent ? el("span", {}, beingSent) : link);
  if (!isTwo || !delivered) return [first];
  const url = payment.destination_explorer_url ?? chains.transactionUrl(payment.destination_chain_id, delivered);
  return [first, transactionBox(copy.deliveryOn(chains.name(payment.destination_chain_id)), delivered, url)];
}

/** How to contact the merchant, and the payment code to quote. */
export function supportLine(checkout: Checkout): Child {
  const { merchant, shortcode } = checkout;
  const { name, support_url: url, support_email: email } = merchant;
  const line = (...contact: Child[]) =>
    el("p", { class: "help help--small support" }, ...contact, el("br"), copy.nameTheCode(shortcode));
  if (webUrl(url)) return line(externalLink(url, copy.support(name)));
  const site = shopSite(checkout);
  if (!email && site) return line(copy.supportNamed(name), externalLink(site, new URL(site).host));
  if (!email) return line(copy.askMerchant(name));
  const address = encodeURIComponent(email).replace("%40", "@");
  return line(copy.supportNamed(name), el("a", { href: `mailto:${address}` }, email));
}

/** The shop's site, if the merchant has no other contact. Null on the page of a refund. */
export function shopSite({ redirect_url: done, cancel_url: cancel }: Checkout): string | null {
  const isRefund = document.getElementById("checkout")?.dataset["refund"] !== undefined;
  const url = isRefund ? null : (webUrl(done) ?? webUrl(cancel));
  return url && new URL(url).origin;
}

function detailOf(payment: Payment, sentence: string): string {
  const isSeen = payment.confirmations > 0 || Boolean(payment.provider_status);
  const isUnsent = payment.sponsored && payment.transaction_hash === null;
  const state = isUnsent ? "sending" : !isSeen ? "looking" : isCrossing(payment) ? "crossing" : "seen";
  return messageFor("detail", state, sentence);
}

type StepRow = [string, StepState, string?];

function isCrossing(payment: Payment): boolean {
  return payment.chain_id !== payment.destination_chain_id;
}

/** The steps of a direct payment. `payment` is null until the server lists it. */
function directSteps(payment: Payment | null, waiting = 0): StepRow[] {
  // Only confirmations show that the network has seen the transaction. The status `processing` doesn't: it means that
  // the verification has started.
  const reached = !payment ? waiting : payment.confirmations > 0 ? 2 : 1;
  const steps: [string, string?][] = [[copy.stepSent], [copy.stepSeen], [copy.stepFinality, confirmationsText(payment)], [copy.stepPaid]];
  return inOrder(steps, reached, reached > 1);
}

/**
 * The steps of a payment that the payer signed and another account sends. `payment` is null until the server has the
 * signature.
 */
function signedSteps(payment: Payment | null): StepRow[] {
  const isSent = Boolean(payment?.transaction_hash);
  const reached = isSent && payment && payment.confirmations > 0 ? 3 : isSent ? 2 : 1;
  const rest = directSteps(payment).map(([name, , remark = ""]): [string, string?] => [name, remark]);
  return inOrder([[copy.sponsored.stepSigned], ...rest], reached, reached > 2);
}

function crossingSteps(from: string, to: string, payment: Payment | null, waiting = 0): StepRow[] {
  const hasArrived = payment !== null && isDelivered(payment);
  const isSeen = Boolean(payment && (payment.provider_status || payment.confirmations > 0));
  const reached = !payment ? waiting : hasArrived ? 4 : isSeen ? 2 : 1;
  const carrier = payment?.provider ? copy.crossingWith(providerName(payment.provider)) : "";
  const steps: [string, string?][] = [
    [copy.stepSent],
    [copy.stepSeenOn(from)],
    [copy.stepCrossing(to), carrier],
    [copy.stepDelivered(to)],
    [copy.stepFinality, hasArrived ? confirmationsText(payment) : ""],
    [copy.stepPaid],
  ];
  return inOrder(steps, reached, reached > 1);
}

/**
 * Return the steps with their states. Until the network has seen the transaction, the state of the current step is
 * `awaited`.
 */
function inOrder(steps: [string, string?][], reached: number, isSeen: boolean): StepRow[] {
  const current = isSeen ? "current" : "awaited";
  return steps.map(([text, remark = ""], index) => {
    const state = index < reached ? "done" : index === reached ? current : "todo";
    return [text, state, remark];
  });
}

/** The number of confirmations, as a remark beside the step. The step's name itself doesn't change. */
function confirmationsText(payment: Payment | null): string {
  const { done, needed } = payment ? depthOf(payment) : { done: 0, needed: null };
  return needed === null ? "" : copy.stepConfirmations(Math.min(done, needed), needed);
}

/**
 * For a payment on one chain, its confirmations. For a payment between chains, the confirmations of the delivery. If
 * the chain has its own finality, `needed` is null.
 */
function depthOf(payment: Payment): { done: number; needed: number | null } {
  if (!isCrossing(payment)) return { done: payment.confirmations, needed: payment.confirmations_required };
  return { done: payment.destination_confirmations ?? 0, needed: payment.destination_confirmations_required };
}

function isDelivered({ destination_transaction_hash: delivered }: Payment): boolean {
  return Boolean(delivered);
}

/** `hash` is null if native coin arrived at the deposit address in an unknown transaction. */
function transactionBox(label: string, hash: string | null, url: string | null, more: Child = null): HTMLElement {
  return el(
    "div",
    { class: "transaction" },
    el("span", { class: "transaction__label" }, label),
    hash !== null && el("code", { class: "address" }, hash),
    webUrl(url) !== null && externalLink(url, copy.viewOnExplorer),
    more,
  );
}
