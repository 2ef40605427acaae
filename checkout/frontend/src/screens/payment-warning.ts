/** The warning about a submitted payment that is not in progress. The customer can still pay. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { el, externalLink, type Child } from "../dom";
import { withoutMarks } from "../marks";
import { failureOf, type PaymentWarning } from "../server/progress";
import type { Checkout, Payment } from "../server/types";
import { canCheckAgain, failureText, foundText, provePage } from "./outcomes";

const FIRST = 10;
const LAST = 8;

/** The actions of the warning. */
export interface WarningActions {
  enterHash(): void;
  checkAgain(payment: Payment): void;
}

/** `isMine`: this browser submitted the transaction, so the money is probably this customer's. */
export function paymentWarning(
  { payment, kind }: PaymentWarning,
  checkout: Checkout,
  chains: Chains,
  warningActions: WarningActions,
  isMine: boolean,
): HTMLElement {
  const prove = kind === "unpaid" ? provePage(payment, checkout) : null;
  const isUnbound = kind === "unpaid" && failureOf(payment) === "transaction_not_bound";
  const help: Record<typeof kind, () => string[]> = {
    unseen: () => [copy.unseenHelp],
    unbound: () => [copy.unboundHelp],
    signers: () => [copy.signersHelp],
    cancelled: () => [copy.cancelledInWalletHelp],
    unpaid: () => (isUnbound ? unboundTexts(payment, checkout, isMine) : reasons(payment, chains)),
  };
  const isOver = checkout.status !== "active";
  const isFound = isUnbound && isMine && !isOver;
  const texts = [...help[kind](), ...(kind === "cancelled" || isFound || isOver ? [] : [copy.notYours])];
  const ways: Child[] = [
    kind === "unseen" && textButton("enter-hash", copy.enterHash, warningActions.enterHash),
    canCheckAgain(payment) && textButton("check-again", copy.checkAgain, () => warningActions.checkAgain(payment)),
    prove !== null && el("a", { id: "sign-for-it", href: prove }, copy.signForIt),
  ];
  return el(
    "section",
    { class: "notice notice--info payment-warning", "data-testid": "doubt" },
    !isFound && el("strong", { class: "payment-warning__name" }, isUnbound ? copy.unlinked : copy.paymentWarning[kind]),
    ...texts.map((text) => el("p", {}, text)),
    el("p", { class: "payment-warning__what" }, ...transactionOn(payment, chains)),
    ways.some(Boolean) && el("p", { class: "payment-warning__ways" }, ...ways),
  );
}

function reasons(payment: Payment, chains: Chains): string[] {
  const code = failureOf(payment) ?? "other";
  // While a payment is being checked, `status_detail` is about the next step, not about a failure.
  const why = failureText(payment, chains) || payment.status_detail || copy.failedDefault;
  return [why, copy.advice[code] ?? copy.advice.other ?? ""];
}

/**
 * The advice about a transfer that nothing links to the request: sign with the wallet that sent it, or contact the
 * shop. If the request has ended, a signature only shows the shop who sent the transfer.
 */
function unboundTexts(payment: Payment, checkout: Checkout, isMine: boolean): string[] {
  const { name } = checkout.merchant;
  const isOver = checkout.status !== "active";
  const found = (isMine && !isOver) || payment.sender_signed_at ? foundText(payment, checkout) : null;
  const help = isOver ? copy.unlinkedLate(name) : copy.unlinkedHelp(name);
  const sign = provePage(payment, checkout) === null ? null : help;
  return [found ?? sign, copy.notBoundHelp(name)].filter((text): text is string => text !== null);
}

/** The shortened hash with the network's name or, if there is no hash, only the network's name. */
function transactionOn(payment: Payment, chains: Chains): Child[] {
  const { transaction_hash: hash, chain_id: chainId, explorer_url: url } = payment;
  if (hash === null) return [chains.name(chainId)];
  const short = `${hash.slice(0, FIRST)}…${hash.slice(-LAST)}`;
  const name = el("code", { title: hash }, url ? externalLink(url, short) : short);
  const [before = "", after = ""] = withoutMarks(copy.tokenOnChain("\0", chains.name(chainId))).split("\0");
  return [before, name, after];
}

function textButton(id: string, label: string, onClick: () => void): HTMLElement {
  const element = el("button", { id, type: "button", class: "text-button" }, label);
  element.addEventListener("click", onClick);
  return element;
}
