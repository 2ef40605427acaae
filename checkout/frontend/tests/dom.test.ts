import { words } from "../src/pay/words";
import { expect, test } from "vitest";
import { copy } from "../src/copy";
import { button, el } from "../src/dom";
import { untranslated } from "../src/language";
import { withoutMarks } from "../src/marks";

/** The texts that a browser's page translation must not change. */
const kept = (element: Element): string[] =>
  [...element.querySelectorAll("[translate=no]")].map(({ textContent }) => textContent ?? "");

test("amounts in a sentence are kept from being translated", () => {
  const line = el("p", {}, copy.partlyPaid("3.00", "10.50 USDC", "7.50"));
  expect(kept(line)).toEqual(["3.00", "10.50 USDC", "7.50"]);
  expect(line.textContent).toBe("3.00 of 10.50 USDC received, 7.50 to go");
});

test("sentence with an amount is one element, also in a button", () => {
  const pay = button("pay", "primary", words.pay(untranslated("0.5 SOL")), () => undefined);
  expect([pay.children.length, pay.textContent, kept(pay)]).toEqual([1, "Pay 0.5 SOL", ["0.5 SOL"]]);
});

test("amount alone, address and symbol are kept as they are", () => {
  const parts = el("div", {}, el("strong", {}, untranslated("1.00 SOL")), el("code", {}, "0x12"), el("bdi", {}, "SOL"));
  expect(kept(parts)).toEqual(["1.00 SOL", "0x12", "SOL"]);
});

test("sentence without an amount has no elements", () => {
  expect(el("p", {}, copy.mayClose, copy.processingHelp).children).toHaveLength(0);
});

test("markup in a name stays text", () => {
  const line = el("p", {}, copy.paidHelp("1.00 <b>USDC</b>", "<i>Alice</i>"));
  expect(line.querySelector("b, i")).toBeNull();
  expect(line.textContent).toBe("<i>Alice</i> has received 1.00 <b>USDC</b>.");
});

test("marks in a symbol can't end the element early", () => {
  const line = el("p", {}, words.pay("1.00 \u2069US\u2068DC"));
  expect(kept(line)).toEqual(["1.00 USDC"]);
  expect(withoutMarks(line.textContent ?? "")).toBe(line.textContent);
});
