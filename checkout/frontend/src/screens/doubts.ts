/** A notice about a submitted transaction that is not on its way. The ways to pay stay beside it. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { el, externalLink, type Child } from "../dom";
import { messageFor } from "../language";
import { failureOf, type Doubtful } from "../server/progress";
import type { Checkout, Payment } from "../server/types";
import { byHandPage, canCheckAgain } from "./outcomes";

const FIRST = 10;
const LAST = 8;

/** What the customer can do about it. */
export interface AboutDoubt {
  enterHash(): void;
  checkAgain(payment: Payment): void;
}

export function doubtBox({ payment, doubt }: Doubtful, checkout: Checkout, chains: Chains, about: AboutDoubt): HTMLElement {
  const help: Record<typeof doubt, () => string[]> = {
    unseen: () => [copy.unseenHelp],
    unbound: () => [copy.unboundHelp],
    cancelled: () => [copy.cancelledInWalletHelp],
    unpaid: () => reasons(payment, checkout),
  };
  const texts = [...help[doubt](), ...(doubt === "cancelled" ? [] : [copy.notYours])];
  const isUnbound = failureOf(payment) === "transaction_not_bound";
  const ways: Child[] = [
    doubt === "unseen" && textButton("enter-hash", copy.enterHash, about.enterHash),
    canCheckAgain(payment) && textButton("check-again", copy.checkAgain, () => about.checkAgain(payment)),
    isUnbound && el("a", { id: "what-helps", href: byHandPage(checkout.shortcode) }, copy.byHand.whatHelps),
  ];
  return el(
    "section",
    { class: "notice notice--info doubt", "data-testid": "doubt" },
    el("strong", { class: "doubt__name" }, copy.doubt[doubt]),
    ...texts.map((text) => el("p", {}, text)),
    el("p", { class: "doubt__what" }, ...transactionOn(payment, chains)),
    ways.some(Boolean) && el("p", { class: "doubt__ways" }, ...ways),
  );
}

function reasons(payment: Payment, { merchant }: Checkout): string[] {
  const code = failureOf(payment) ?? "other";
  // For a payment that is still checked, `status_detail` describes what it waits for, not its failure.
  const why = messageFor("failure", code, payment.failure_message ?? "") || payment.status_detail || copy.failedDefault;
  const isUnbound = code === "transaction_not_bound";
  return [why, isUnbound ? copy.notBoundHelp(merchant.name) : (copy.advice[code] ?? copy.advice.other ?? "")];
}

/** The hash in few characters, and its network. */
function transactionOn(payment: Payment, chains: Chains): Child[] {
  const { transaction_hash: hash, chain_id: chainId, explorer_url: url } = payment;
  const short = `${hash.slice(0, FIRST)}…${hash.slice(-LAST)}`;
  const name = el("code", { title: hash }, url ? externalLink(url, short) : short);
  const [before = "", after = ""] = copy.tokenOnChain("\0", chains.name(chainId)).split("\0");
  return [before, name, after];
}

function textButton(id: string, label: string, onClick: () => void): HTMLElement {
  const element = el("button", { id, type: "button", class: "text-button" }, label);
  element.addEventListener("click", onClick);
  return element;
}
