import { expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import { withoutMarks } from "../../src/marks";
import * as outcomes from "../../src/screens/outcomes";
import type { Screen } from "../../src/screens/panel";
import { paymentWarning } from "../../src/screens/payment-warning";
import type { WarningKind } from "../../src/server/progress";
import type { Payment } from "../../src/server/types";
import { chains, checkout, HASH, payment, RECIPIENT, swap, usdc } from "../fixtures";

const MERCHANT = { name: "Alice", support_url: null, support_email: "help@shop.example" };
const request = checkout({ merchant: MERCHANT });
const stay = (): void => undefined;
const PART = { amount_paid: usdc(3_000_000), amount_remaining: usdc(7_500_000) };
const WHOLE = { status: "completed", amount_paid: usdc(10_500_000), amount_remaining: usdc(0) };
const MORE = { ...WHOLE, amount_paid: usdc(12_500_000), amount_overpaid: usdc(2_000_000) };

function drawn(screen: Screen): HTMLElement {
  const panel = document.createElement("div");
  panel.append(...screen.nodes);
  return panel;
}

const failed = (failure_code: string, different: Partial<Payment> = {}): Payment =>
  payment({ status: "failed", failure_code, ...different });
const failedPanel = (current: Payment, after = { payAgain: stay, checkAgain: stay }): HTMLElement =>
  drawn(outcomes.failedScreen(current, request, chains, after));
const kinds = (panel: HTMLElement): string[] =>
  [...panel.querySelectorAll(".actions > *")].map(({ id, className }) => `${id} ${className.replace(/.*button--/, "")}`);

test.each<[string, Payment, string[]]>([
  ["was reverted", failed("transaction_reverted"), ["pay-again primary"]],
  ["was not found", failed("transaction_not_found"), ["check-again primary", "pay-again quiet"]],
  ["has no check left", failed("transaction_not_found", { retries_left: 0 }), ["pay-again primary"]],
  ["was sent back by the provider", failed("swap_refunded"), ["pay-again primary", "check-again quiet"]],
  ["was delivered in part", failed("swap_partial"), ["check-again primary", "contact secondary", "pay-again quiet"]],
  ["paid with another token", failed("wrong_token"), ["contact primary", "pay-again quiet"]],
  ["is not tied to the request", failed("transaction_not_bound"), ["sign-for-it primary", "contact secondary", "pay-again quiet"]],
  [
    "was delivered to another recipient",
    swap({ status: "failed", failure_code: "wrong_recipient", destination_transaction_hash: HASH }),
    ["contact primary", "pay-again quiet"],
  ],
])("payment that %s offers the next steps in their order", (_, current, expected) => {
  expect(kinds(failedPanel(current))).toEqual(expected);
});

test("buttons of a failure do what they say", () => {
  const after = { payAgain: vi.fn(), checkAgain: vi.fn() };
  const panel = failedPanel(failed("transaction_not_found"), after);
  panel.querySelector<HTMLElement>("#pay-again")?.click();
  panel.querySelector<HTMLElement>("#check-again")?.click();
  expect([after.payAgain.mock.calls.length, after.checkAgain.mock.calls.length]).toEqual([1, 1]);
});

test("mail about a failure has the payment code as its subject", () => {
  const contact = failedPanel(failed("wrong_token")).querySelector("#contact");
  expect(contact?.getAttribute("href")).toBe("mailto:help@shop.example?subject=Ab3dEf6hJk9m");
});

const STAYS = { secondsLeft: null, seconds: 3 };

test("failure of an unknown kind has a default text and advice", () => {
  const panel = failedPanel(failed("new_code"));
  expect(panel.textContent).toContain(copy.failedDefault);
  expect(panel.textContent).toContain(copy.advice.other);
});

test("several transactions of a complete payment have their amounts in their titles", () => {
  const labels = (...payments: Payment[]): (string | null)[] => {
    const panel = drawn(outcomes.completedScreen(checkout({ ...WHOLE, payments }), chains, STAYS, stay));
    return [...panel.querySelectorAll(".transaction__label")].map(({ textContent }) => textContent);
  };
  const first = payment({ status: "completed", amount_received: usdc(3_000_000) });
  const second = payment({ id: "pay_2", status: "completed", amount_received: usdc(7_500_000) });
  expect(labels(first)).toEqual([copy.transaction]);
  expect(labels(first, second)).toEqual([`${copy.transaction} · 3.00 USDC`, `${copy.transaction} · 7.50 USDC`]);
});

test("complete payment leads back to the shop and says when", () => {
  const back = checkout({ ...WHOLE, redirect_url: "https://shop.example/done" });
  const screen = outcomes.completedScreen(back, chains, { secondsLeft: 2, seconds: 3 }, stay);
  expect(drawn(screen).querySelector("#return")?.getAttribute("href")).toBe("https://shop.example/done");
  expect(drawn(screen).querySelector(".leaving")?.textContent).toContain(copy.goingBack("Alice's Bakery", 2));
  // The screen reader speaks the countdown once, with the full time.
  expect(screen.spoken).toContain(copy.goingBack("Alice's Bakery", 3));
});

test.each([null, "javascript:alert(1)"])("complete payment with redirect %s may be closed", (redirect_url) => {
  const panel = drawn(outcomes.completedScreen(checkout({ ...WHOLE, redirect_url }), chains, STAYS, stay));
  expect(panel.querySelector("#return")).toBeNull();
  expect(panel.textContent).toContain(copy.mayClose);
});

test("late payment says that it was late", () => {
  expect(drawn(outcomes.completedScreen(checkout({ ...WHOLE, paid_late: true }), chains, STAYS, stay)).textContent).toContain(copy.paidLate);
});

test("overpayment is a notice with the merchant's contact", () => {
  const screen = outcomes.completedScreen(checkout({ ...MORE, merchant: MERCHANT }), chains, { secondsLeft: 15, seconds: 15 }, stay);
  expect(screen.heading).toBe(copy.overpaidHeading);
  expect(drawn(screen).querySelector("[data-testid=notice]")?.textContent).toBe(withoutMarks(copy.overpaid("2.00 USDC")));
  expect(drawn(screen).textContent).toContain("help@shop.example");
});

test("surplus of a conversion is no overpayment", () => {
  const delivered = swap({ status: "completed", amount_received: usdc(9_500_000) });
  const one = checkout({ ...MORE, payments: [delivered] });
  const rest = checkout({ ...MORE, payments: [delivered, payment({ status: "completed", amount_received: usdc(3_000_000) })] });
  const second = checkout({ ...MORE, payments: [payment({ status: "completed", amount_received: usdc(3_000_000) }), delivered] });
  const needless = checkout({ ...MORE, payments: [swap({ status: "completed", amount_received: usdc(2_000_000) }), payment({ status: "completed" })] });
  expect([one, rest, second, needless].map(outcomes.isPaidTooMuch)).toEqual([false, false, true, true]);
  expect(drawn(outcomes.completedScreen(one, chains, STAYS, stay)).querySelector(".paid-amount")?.textContent).toBe("10.50 USDC");
  expect(drawn(outcomes.completedScreen(one, chains, STAYS, stay)).textContent).toContain(withoutMarks(copy.moreThanAsked("2.00 USDC")));
});

test("refunded overpayment still shows all that was paid", () => {
  const refunds = [{ status: "completed", amount: usdc(2_000_000) }];
  const refunded = checkout({ ...MORE, amount_overpaid: usdc(0), merchant: MERCHANT, refunds });
  const screen = outcomes.completedScreen(refunded, chains, STAYS, stay);
  expect(screen.heading).toBe(copy.paid);
  expect(drawn(screen).querySelector(".paid-amount")?.textContent).toBe("12.50 USDC");
  expect(drawn(screen).querySelector("#ask-refund")).toBeNull();
  expect(outcomes.isWholeShown(checkout({ ...WHOLE, refunds }))).toBe(false);
});

test("refund of a part that came too late names no one to ask for it", () => {
  const refunds = [{ status: "ready", amount: usdc(3_000_000) }];
  const arrived = withoutMarks(copy.arrivedPart("3.00", "10.50 USDC"));
  for (const screen of [
    outcomes.expiredScreen(checkout({ ...PART, merchant: MERCHANT, refunds })),
    outcomes.cancelledScreen(checkout({ ...PART, merchant: MERCHANT, refunds }), null, stay),
  ]) {
    expect(drawn(screen).querySelector("[data-testid=notice]")?.textContent).toBe(arrived);
    expect(drawn(screen).querySelector("#ask-refund")).toBeNull();
  }
});

test.each<[string, string]>([
  ["requires_address", "secondary"],
  ["ready", "primary"],
])("beside a refund that is %s, the way back is %s", (status, kind) => {
  const refunds = [{ status, amount: usdc(2_000_000) }];
  const back = checkout({ ...MORE, amount_overpaid: usdc(0), refunds, redirect_url: "https://shop.example/done" });
  expect(kinds(drawn(outcomes.completedScreen(back, chains, STAYS, stay)))).toEqual([`return ${kind}`]);
});

test.each<[string, Screen, string]>([
  ["expired", outcomes.expiredScreen(request), copy.expiredHelp("Alice")],
  ["expired in part", outcomes.expiredScreen(checkout({ ...PART, merchant: MERCHANT })), withoutMarks(copy.expiredPart("3.00", "10.50 USDC", "Alice"))],
  ["cancelled", outcomes.cancelledScreen(request, null, stay), copy.cancelledHelp("Alice")],
  [
    "cancelled and paid",
    outcomes.cancelledScreen(checkout({ ...WHOLE, merchant: MERCHANT }), 3, stay),
    withoutMarks(copy.cancelledPaid("10.50", "10.50 USDC", "Alice")),
  ],
  ["switched off", outcomes.unavailableScreen(request, []), copy.sendNothing],
  [
    "switched off and paid",
    outcomes.unavailableScreen(checkout({ ...WHOLE, status: "active", merchant: MERCHANT }), []),
    withoutMarks(copy.expiredPart("10.50", "10.50 USDC", "Alice")),
  ],
])("request that is %s says what happened and who helps", (_, screen, text) => {
  expect(drawn(screen).textContent).toContain(text);
  expect(drawn(screen).textContent).toContain("help@shop.example");
  expect(drawn(screen).querySelector(".leaving")).toBeNull();
});

test("customer who overpaid asks for a refund with one click", () => {
  const paid = checkout({ ...MORE, merchant: MERCHANT, redirect_url: "https://shop.example/done" });
  const panel = drawn(outcomes.completedScreen(paid, chains, STAYS, stay));
  const letter = `mailto:help@shop.example?subject=${encodeURIComponent("Refund for payment Ab3dEf6hJk9m")}`;
  expect(panel.querySelector("#ask-refund.button--primary")?.getAttribute("href")).toBe(letter);
  expect(panel.querySelectorAll(".button--primary")).toHaveLength(1);
  const expired = drawn(outcomes.expiredScreen(checkout({ ...PART, merchant: MERCHANT })));
  expect(expired.querySelector("#ask-refund")).not.toBeNull();
  expect(drawn(outcomes.expiredScreen(request)).querySelector("#ask-refund")).toBeNull();
});

test("conversion that was refunded names the provider and the network", () => {
  const panel = failedPanel(failed("swap_refunded", { type: "swap", provider: "lifi", failure_message: "LI.FI could not deliver." }));
  expect(panel.textContent?.replace(/[\u2066-\u2069]/g, "")).toContain("couldn’t deliver your payment and has refunded it on Local Chain.");
});

test("newest payment is the one that began last", () => {
  const older = payment({ id: "old", created_at: "2026-01-01T11:00:00Z" });
  expect(outcomes.latest([older, payment({ id: "new" })])?.id).toBe("new");
  expect(outcomes.latest([])).toBeNull();
});

const warned = (kind: WarningKind, different: Partial<Payment> = {}, isMine = false): HTMLElement =>
  paymentWarning({ payment: payment(different), kind }, request, chains, { enterHash: stay, checkAgain: stay }, isMine);

test.each<[WarningKind, Partial<Payment>, string[], string[]]>([
  ["unseen", {}, [copy.unseenHelp, copy.notYours], ["enter-hash"]],
  ["unseen", { status: "failed", failure_code: "transaction_not_found" }, [copy.unseenHelp], ["enter-hash", "check-again"]],
  ["unbound", {}, [copy.unboundHelp, copy.notYours], []],
  ["cancelled", {}, [copy.cancelledInWalletHelp], []],
  ["unpaid", { likely_failure: "transaction_reverted" }, [copy.advice.transaction_reverted ?? "?", copy.notYours], []],
  ["unpaid", { status: "failed", failure_code: "wrong_recipient", failure_message: "It paid 0x12." }, ["It paid 0x12."], []],
])("warning %s (%#) explains itself and offers ways on", (kind, different, texts, ways) => {
  const warning = warned(kind, different);
  expect(warning.querySelector("strong")?.textContent).toBe(copy.paymentWarning[kind]);
  for (const text of texts) expect(warning.textContent).toContain(text);
  expect([...warning.querySelectorAll(".payment-warning__ways > *")].map(({ id }) => id)).toEqual(ways);
});

test("warning names the transaction shortly, with its network", () => {
  const warning = warned("unseen");
  expect(warning.textContent).toContain("0x34343434…34343434");
  expect(warning.textContent).toContain("Local Chain");
  expect(warning.querySelector("code a")?.getAttribute("href")).toBe(`https://scan.example/tx/${HASH}`);
});

const UNBOUND = { status: "failed", failure_code: "transaction_not_bound", amount: usdc(10_500_000) };
const FOUND = "We found your transfer. 10.50 USDC reached Alice. Sign with the wallet that sent it, and it counts.";

test("who sent an unlinked transfer from this browser is asked to sign for it", () => {
  const warning = warned("unpaid", UNBOUND, true);
  expect(warning.textContent).toContain(FOUND);
  expect(warning.textContent).not.toContain(copy.paymentWarning.unpaid);
  expect(warning.textContent).not.toContain(copy.notYours);
  expect(warning.querySelector("#sign-for-it")?.getAttribute("href")).toBe("/pay/Ab3dEf6hJk9m/sent/pay_1");
  expect(failedPanel(payment(UNBOUND)).textContent).toContain(FOUND);
});

test("visitor who did not send an unlinked transfer reads nothing of their own", () => {
  const warning = warned("unpaid", UNBOUND);
  expect(warning.textContent).not.toContain(FOUND);
  expect(warning.querySelector("strong")?.textContent).toBe(copy.unlinked);
  for (const text of [copy.unlinkedHelp("Alice"), copy.notYours, copy.notBoundHelp("Alice")]) expect(warning.textContent).toContain(text);
});

test("transfer that its sender signed for too late waits for the shop", () => {
  const signed = { ...UNBOUND, sender_signed_at: "2026-01-01T12:00:00Z" };
  for (const isMine of [true, false]) {
    const warning = warned("unpaid", signed, isMine);
    expect(warning.textContent).toContain(copy.signedWaits("Alice"));
    expect(warning.querySelector("#sign-for-it")).toBeNull();
  }
});

test.each(["expired", "cancelled"] as const)("unlinked transfer of a request that is %s is signed for the shop's decision", (status) => {
  const ended = checkout({ merchant: MERCHANT, status });
  const actions = { enterHash: stay, checkAgain: stay };
  for (const isMine of [true, false]) {
    const warning = paymentWarning({ payment: payment(UNBOUND), kind: "unpaid" }, ended, chains, actions, isMine);
    const screen = status === "expired" ? outcomes.expiredScreen(ended, warning) : outcomes.cancelledScreen(ended, null, stay, warning);
    const { textContent } = drawn(screen);
    expect(textContent).toContain(copy.unlinkedLate("Alice"));
    for (const text of [FOUND, copy.unlinkedHelp("Alice"), copy.notYours]) expect(textContent).not.toContain(text);
    expect(drawn(screen).querySelector("#sign-for-it")?.getAttribute("href")).toBe(`/pay/${ended.shortcode}/sent/pay_1`);
  }
});

test("transfer on another network or of a refund is not signed for", () => {
  expect(warned("unpaid", { ...UNBOUND, chain_id: 5 }, true).querySelector("#sign-for-it")).toBeNull();
  const refund = document.createElement("main");
  refund.id = "checkout";
  refund.dataset.refund = "";
  document.body.append(refund);
  expect(outcomes.provePage(payment(UNBOUND), request)).toBeNull();
  refund.remove();
});

test.each([
  ["shown", RECIPIENT, true],
  ["never shown", null, false],
])("expired page whose deposit address was %s says what happens to a transfer: %s", (_, deposit_address, expected) => {
  const panel = document.createElement("div");
  panel.append(...outcomes.expiredScreen(checkout({ status: "expired", deposit_address })).nodes);
  expect(panel.textContent?.includes(withoutMarks(copy.depositLate("Alice's Bakery")))).toBe(expected);
});
