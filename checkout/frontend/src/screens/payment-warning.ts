/** The warning about a submitted transaction that is not in progress. The customer can still pay. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { el, externalLink, type Child } from "../dom";
import { messageFor } from "../language";
import { withoutMarks } from "../marks";
import { failureOf, type PaymentWarning } from "../server/progress";
import type { Checkout, Payment } from "../server/types";
import { byHandPage, canCheckAgain } from "./outcomes";

const FIRST = 10;
const LAST = 8;

/** The actions that the warning offers. */
export interface WarningActions {
  enterHash(): void;
  checkAgain(payment: Payment): void;
}

export function paymentWarning({ payment, kind }: PaymentWarning, checkout: Checkout, chains: Chains, warningActions: WarningActions): HTMLElement {
  const help: Record<typeof kind, () => string[]> = {
    unseen: () => [copy.unseenHelp],
    unbound: () => [copy.unboundHelp],
    cancelled: () => [copy.cancelledInWalletHelp],
    unpaid: () => reasons(payment, checkout),
  };
  const texts = [...help[kind](), ...(kind === "cancelled" ? [] : [copy.notYours])];
  const isUnbound = failureOf(payment) === "transaction_not_bound";
  const ways: Child[] = [
    kind === "unseen" && textButton("enter-hash", copy.enterHash, warningActions.enterHash),
    canCheckAgain(payment) && textButton("check-again", copy.checkAgain, () => warningActions.checkAgain(payment)),
    isUnbound && el("a", { id: "what-helps", href: byHandPage(checkout.shortcode) }, copy.byHand.whatHelps),
  ];
  return el(
    "section",
    { class: "notice notice--info payment-warning", "data-testid": "doubt" },
    el("strong", { class: "payment-warning__name" }, copy.paymentWarning[kind]),
    ...texts.map((text) => el("p", {}, text)),
    el("p", { class: "payment-warning__what" }, ...transactionOn(payment, chains)),
    ways.some(Boolean) && el("p", { class: "payment-warning__ways" }, ...ways),
  );
}

function reasons(payment: Payment, { merchant }: Checkout): string[] {
  const code = failureOf(payment) ?? "other";
  // For a payment that is still checked, `status_detail` describes what it waits for, not its failure.
  const why = messageFor("failure", code, payment.failure_message ?? "") || payment.status_detail || copy.failedDefault;
  const isUnbound = code === "transaction_not_bound";
  return [why, isUnbound ? copy.notBoundHelp(merchant.name) : (copy.advice[code] ?? copy.advice.other ?? "")];
}

/** The shortened hash with its network. */
function transactionOn(payment: Payment, chains: Chains): Child[] {
  const { transaction_hash: hash, chain_id: chainId, explorer_url: url } = payment;
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
