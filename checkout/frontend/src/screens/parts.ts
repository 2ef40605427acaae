/** Elements that several screens use. */

import { copy } from "../copy";
import { el, type Child } from "../dom";
import type { Notice } from "../flow/notices";
import { untranslated } from "../language";
import { isZero, less, plain } from "../money";
import type { Amount, Checkout } from "../server/types";
import type { Screen } from "./panel";

export function screen(name: string, heading: string, nodes: Child[], spoken?: string): Screen {
  const present = nodes.filter((node): node is Node => node instanceof Node);
  return { name, heading, nodes: present, ...(spoken ? { spoken: `${heading}. ${spoken}` } : {}) };
}

/** An amount with its symbol, such as "10.00 USDC". */
export function money(amount: Amount, checkout: Checkout): string {
  return untranslated(`${plain(amount)} ${checkout.token.symbol}`);
}

/**
 * The price and the rate, as in the page's header: "€25.00 · 1 USDC = €0.9259". If a part was paid, the text is only
 * the rate. If the request has no price, the result is null.
 */
export function priceText({ amount, amount_remaining: rest }: Checkout): string | null {
  const isWhole = rest.raw === amount.raw;
  const [price, rate] = ["price", "rate"].map((id) => document.getElementById(id)?.textContent ?? "");
  return [isWhole && price, rate].flatMap((text) => (text ? [untranslated(text)] : [])).join(" · ") || null;
}

export function noticeBox(notice: Notice | undefined): HTMLElement | null {
  if (!notice) return null;
  // The box has no ARIA role, because the page's live region announces the notice.
  return el("p", { class: `notice notice--${notice.tone}`, "data-testid": "notice" }, notice.text);
}

export function paragraph(text: string): HTMLElement {
  return el("p", { class: "help" }, text);
}

export function smallPrint(text: string): HTMLElement {
  return el("p", { class: "help help--small" }, text);
}

export function actions(...buttons: Child[]): HTMLElement {
  return el("div", { class: "actions" }, ...buttons);
}

export function spinner(): HTMLElement {
  return el("div", { class: "spinner", "aria-hidden": "true" });
}

export function facts(...rows: Child[]): HTMLElement {
  return el("dl", { class: "facts" }, ...rows);
}

export function fact(name: string, value: Child, extra = ""): HTMLElement {
  return el("div", { class: `fact ${extra}`.trim() }, el("dt", {}, name), el("dd", {}, value));
}

export function addressFact(name: string, address: string, extra = ""): HTMLElement {
  return fact(name, el("code", { class: "address" }, address), `fact--tall ${extra}`.trim());
}

/**
 * A bar with the button that pays. In the last minutes, a countdown is beside the button. On phones, the bar is at the
 * bottom of the window.
 */
export function payBar(pay: HTMLElement): HTMLElement {
  return el("div", { class: "pay-bar" }, el("span", { class: "pay-bar__time" }), pay);
}

/** The paid amount, without payments that a reorganisation removed. */
export function paidSoFar(checkout: Checkout): Amount {
  return less(checkout.amount, checkout.amount_remaining);
}

/** "3.00 of 10.00 USDC received, 7.00 to go", or null if nothing has been paid. */
export function partialText(checkout: Checkout): string | null {
  const paid = paidSoFar(checkout);
  if (isZero(paid) || isZero(checkout.amount_remaining)) return null;
  return copy.partlyPaid(plain(paid), money(checkout.amount, checkout), plain(checkout.amount_remaining));
}

/** The progress of a partly paid request as a text and a bar. Null if nothing has been paid. */
export function partialBox(checkout: Checkout): HTMLElement | null {
  const text = partialText(checkout);
  if (!text) return null;
  const bar = { class: "bar", max: checkout.amount.raw, value: paidSoFar(checkout).raw, "aria-hidden": "true" };
  return el("div", { class: "partial" }, el("p", {}, text), el("progress", bar));
}
