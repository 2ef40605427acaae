/**
 * The screen with the deposit address: where to send, how much, and the payments so far. This script is loaded when the
 * customer chooses to pay by deposit address.
 */

import { codeOf } from "../code";
import { copy } from "../copy";
import { button, el, type Child } from "../dom";
import { exact } from "../money";
import type { Screen } from "../screens/panel";
import { actions, fact, facts, money, partialBox, screen, smallPrint } from "../screens/parts";
import type { Checkout, Payment } from "../server/types";
import { leftToSend } from "./arrivals";
import { words } from "./words";

export { leftToSend };
export { requestAddress } from "./request";

const NAME = "deposit";

/** `underWay`: the payments under way. Together, they are less than the remaining amount. */
export function depositScreen(address: string, checkout: Checkout, underWay: readonly Payment[], back: () => void): Screen {
  const left = leftToSend(checkout, underWay) ?? checkout.amount_remaining;
  const { chain, token, merchant } = checkout;
  const amount = money(left, checkout);
  const hasArrivals = underWay.length > 0 || left.raw !== checkout.amount.raw;
  const rest = hasArrivals ? words.rest(amount) : null;
  const rows = facts(
    copyRow(words.amount, words.copyAmount, el("code", { class: "exact", id: "deposit-amount" }, exact(left)), token.symbol),
    copyRow(words.to, words.copyAddress, el("code", { class: "address", id: "deposit-address" }, address)),
  );
  return screen(
    NAME,
    words.heading(amount),
    [
      partialBox(checkout),
      arrivalList(underWay, checkout),
      rest && el("p", { class: "help" }, rest),
      el(
        "p",
        { class: "notice notice--info deposit__network" },
        el("strong", {}, words.network(chain.name, chain.id)),
        " ",
        words.networkHelp(token.symbol),
      ),
      rows,
      el(
        "div",
        { class: "deposit" },
        el("div", { class: "deposit__code" }, codeOf(address, words.code)),
        el(
          "div",
          { class: "deposit__text" },
          el("p", { class: "deposit__waiting" }, el("span", {}, words.waiting), " ", el("span", { class: "deposit__time" })),
          smallPrint(words.fees),
          smallPrint(words.slow(merchant.name)),
        ),
      ),
      // The customer can't take back a payment under way, so the other ways to pay are hidden.
      underWay.length === 0 && actions(button("other-way", "quiet", words.otherWay, back)),
    ],
    rest ?? words.waiting,
  );
}

/** A row with a name, a value, and a button that copies the value. */
function copyRow(name: string, label: string, value: HTMLElement, unit = ""): HTMLElement {
  const pressed = el("button", { type: "button", class: "copy", "data-copy": value.id, "aria-label": label }, words.copy);
  const shown = el("span", {}, value, " ", unit && el("bdi", {}, unit), " ", pressed);
  return fact(name, shown, "fact--tall fact--copy");
}

function arrivalList(underWay: readonly Payment[], checkout: Checkout): Child {
  if (underWay.length === 0) return null;
  const rows = underWay.map((payment) => {
    const { amount, confirmations, confirmations_required: needed } = payment;
    const text = needed === null ? copy.stepFinality : copy.stepConfirmations(Math.min(confirmations, needed), needed);
    return el("li", {}, el("strong", {}, amount && money(amount, checkout)), " ", el("small", {}, text));
  });
  return el("div", { class: "arrivals" }, el("h3", {}, words.seen), el("ul", {}, ...rows));
}
