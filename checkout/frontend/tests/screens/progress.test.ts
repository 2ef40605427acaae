import { expect, test } from "vitest";
import { copy } from "../../src/copy";
import { isTakingLong, processingScreen, supportLine, waitingScreen } from "../../src/screens/progress";
import type { Screen } from "../../src/screens/panel";
import type { Payment } from "../../src/server/types";
import { chains, checkout, FAR, HASH, minutesAgo, NOW, own, payment, SOLANA, swap, usdc } from "../fixtures";

const DELIVERY = `0x${"56".repeat(32)}`;
const following = (different = {}) => ({ checkout: checkout(different), chains, now: NOW });

function shown(screen: Screen): { text: string; current: string; links: string[] } {
  const panel = document.createElement("div");
  panel.append(...screen.nodes);
  const current = panel.querySelector("[aria-current]")?.textContent ?? "";
  return { text: panel.textContent ?? "", current, links: [...panel.querySelectorAll("a")].map(({ href }) => href) };
}

test.each<[string, Payment, string]>([
  ["not seen", payment(), `${copy.stepSeen} (${copy.notYet})`],
  ["confirming", payment({ confirmations: 2 }), `${copy.stepFinality} (${copy.inProgress})${copy.stepConfirmations(2, 12)}`],
  ["beyond its confirmations", payment({ confirmations: 99 }), copy.stepConfirmations(12, 12)],
  ["final by the network", payment({ confirmations: 2, confirmations_required: null }), `${copy.stepFinality} (${copy.inProgress})`],
  ["crossing unseen", swap(), `${copy.stepSeenOn("Far Chain")} (${copy.notYet})`],
  ["crossing", swap({ provider_status: "PENDING" }), `${copy.stepCrossing("Local Chain")} (${copy.inProgress})`],
  [
    "delivered",
    swap({ provider_status: "DONE", destination_transaction_hash: DELIVERY, destination_confirmations: 2 }),
    `${copy.stepFinality} (${copy.inProgress})${copy.stepConfirmations(2, 12)}`,
  ],
])("current step of a payment that is %s", (_, current, step) => {
  expect(shown(processingScreen(current, following())).current).toContain(step);
});

test("native coin without a hash shows where it arrived and no link", () => {
  const { text, links } = shown(processingScreen(payment({ transaction_hash: null, explorer_url: null, confirmations: 2 }), following()));
  expect(text).toContain(copy.stepConfirmations(2, 12));
  expect(text).toContain(copy.depositReceived);
  expect(links).toEqual([]);
});

test("payment across chains names both transactions and the provider", () => {
  const crossing = swap({ destination_transaction_hash: DELIVERY, provider_url: "https://scan.li.fi/tx/1" });
  const { text, links } = shown(processingScreen(crossing, following()));
  expect(text).toContain(copy.transactionOn("Far Chain"));
  expect(text).toContain(copy.deliveryOn("Local Chain"));
  expect(links).toEqual([`https://scan.example/tx/${HASH}`, "https://scan.li.fi/tx/1", `https://scan.example/tx/${DELIVERY}`]);
});

test.each<[string, Payment, number, boolean]>([
  ["unseen", payment(), 5, false],
  ["unseen", payment(), 6, true],
  ["confirming, as long as 12 blocks take", payment({ confirmations: 2 }), 8, false],
  ["confirming", payment({ confirmations: 2 }), 9, true],
  ["waiting for finality", payment({ confirmations: 2, confirmations_required: null }), 30, false],
  ["waiting for finality", payment({ confirmations: 2, confirmations_required: null }), 31, true],
  [
    "waiting for Solana's finality",
    payment({ confirmations: 2, confirmations_required: null, destination_chain_id: SOLANA, chain_id: SOLANA }),
    31,
    true,
  ],
  ["crossing", swap(), 15, false],
  ["crossing", swap(), 16, true],
  ["delivered", swap({ destination_transaction_hash: DELIVERY }), 23, false],
  ["delivered", swap({ destination_transaction_hash: DELIVERY }), 24, true],
])("payment that is %s (%#) takes long after %i minutes", (_, current, minutes, expected) => {
  expect(isTakingLong({ ...current, created_at: minutesAgo(minutes) }, chains, NOW)).toBe(expected);
});

test("late payment says so, and how to reach the merchant", () => {
  const merchant = { name: "Alice", support_url: "https://shop.example/help", support_email: null };
  const late = processingScreen(payment({ created_at: minutesAgo(6) }), following({ merchant }));
  expect([late.name, late.heading]).toEqual(["late", copy.late]);
  expect(shown(late).text).toContain(copy.takingLongUnseen);
  expect(shown(late).text).toContain(copy.support("Alice"));
  expect(shown(processingScreen(payment({ created_at: minutesAgo(9), confirmations: 1 }), following())).text).toContain(copy.takingLong);
});

test("part that was paid before is shown beside the progress", () => {
  const partly = { amount_paid: usdc(3_000_000), amount_remaining: usdc(7_500_000) };
  expect(shown(processingScreen(payment(), following(partly))).text).toContain("3.00");
});

const sending = { isUnsent: true, isRetrying: false, payAgain: null };

test("own transaction shows how far the server knows it", () => {
  expect(shown(waitingScreen(own(), sending, following())).text).toContain(copy.submitting);
  expect(shown(waitingScreen(own(), { ...sending, isRetrying: true }, following())).text).toContain(copy.submitRetrying);
  const waiting = waitingScreen(own(), { ...sending, isUnsent: false }, following());
  expect([waiting.name, shown(waiting).current]).toEqual(["processing", `${copy.stepSeen} (${copy.notYet})`]);
});

test("own transaction from another chain has that chain's steps", () => {
  const waiting = waitingScreen(own({ chainId: FAR }), { ...sending, isUnsent: false }, following());
  expect(shown(waiting).current).toContain(copy.stepSeenOn("Far Chain"));
});

test("own transaction that no node sees can be paid again", () => {
  let calls = 0;
  const waiting = waitingScreen(own(), { isUnsent: false, isRetrying: false, payAgain: () => (calls += 1) }, following());
  const panel = document.createElement("div");
  panel.append(...waiting.nodes);
  panel.querySelector<HTMLButtonElement>("#not-sent")?.click();
  expect([waiting.name, calls]).toEqual(["late", 1]);
});

test("shop's own site is the contact of a merchant without another", () => {
  const merchant = { name: "Alice", support_url: null, support_email: null };
  const line = supportLine(checkout({ merchant, cancel_url: "https://shop.example/basket?status=active" })) as HTMLElement;
  expect(line.querySelector("a")?.getAttribute("href")).toBe("https://shop.example");
});

test("names of the steps stay the same from sending to confirming", () => {
  const names = (shownScreen: Screen): (string | undefined)[] => {
    const panel = document.createElement("div");
    panel.append(...shownScreen.nodes);
    return [...panel.querySelectorAll(".step")].map((step) => step.firstElementChild?.textContent ?? "");
  };
  const sent = names(waitingScreen(own(), { ...sending, isUnsent: false }, following()));
  for (const confirmations of [0, 1, 12]) expect(names(processingScreen(payment({ confirmations }), following()))).toEqual(sent);
});

const estimated = (seconds: number, ago: number) => ({ ...following(), estimate: { sentAt: Date.now() - ago * 1000, seconds } });

test.each<[string, Payment, string]>([
  ["unseen", payment(), copy.slow.unseen("Local Chain")],
  ["confirming", payment({ confirmations: 1 }), copy.slow.confirming("Local Chain")],
  ["crossing", swap({ provider_status: "PENDING" }), copy.slow.crossing("lifi", "Local Chain")],
  ["delivered", swap({ provider_status: "DONE", destination_transaction_hash: DELIVERY }), copy.slow.confirming("Local Chain")],
])("payment that is %s says after twice its estimate what is slow", (_, slow, text) => {
  const soon = processingScreen(slow, estimated(40, 60));
  expect([soon.name, shown(soon).text.includes(text)]).toEqual(["processing", false]);
  const late = processingScreen(slow, estimated(40, 81));
  expect([late.name, shown(late).text.includes(text)]).toEqual(["late", true]);
});

test("own transaction that is unseen after twice its estimate says what is slow", () => {
  const waiting = waitingScreen(own(), { ...sending, isUnsent: false }, estimated(40, 81));
  expect([waiting.name, shown(waiting).text.includes(copy.slow.unseen("Local Chain"))]).toEqual(["late", true]);
});

test.each<[string, string | null, string | null, string | null]>([
  ["a page", "https://shop.example/help", null, "https://shop.example/help"],
  ["a mail address", null, "help+me@shop.example", "mailto:help%2Bme@shop.example"],
  ["a page that is no web address", "javascript:alert(1)", null, null],
])("merchant with %s is reached by it", (_, support_url, support_email, href) => {
  const line = supportLine(checkout({ merchant: { name: "Alice", support_url, support_email } })) as HTMLElement;
  expect(line.querySelector("a")?.getAttribute("href") ?? null).toBe(href);
  expect(line.textContent).toContain("Ab3dEf6hJk9m");
});
