import { beforeEach, expect, test, vi } from "vitest";
import { leftToSend } from "../../src/deposit/arrivals";
import { depositScreen } from "../../src/deposit/main";
import { Flow } from "../../src/flow/flow";
import type { Screen } from "../../src/screens/panel";
import { Api } from "../../src/server/api";
import type { Checkout, Payment } from "../../src/server/types";
import { chains, checkout, json, noBatches, NOW, payment, refusal, respond, swap, usdc } from "../fixtures";
import { writePage } from "../setup";

const ADDRESS = "0x4bC1d0E6f9b8D2d1F6a2f9E1b7A65F3E5D4C3B2A";

test.each<[string, Payment[], number | null]>([
  ["nothing is under way", [], 10_500_000],
  ["a part is under way", [payment({ amount: usdc(9_000_000) })], 1_500_000],
  ["two parts are under way", [payment({ amount: usdc(9_000_000) }), payment({ amount: usdc(1_000_000) })], 500_000],
  ["all of it is under way", [payment({ amount: usdc(10_500_000) })], null],
  ["more than all is under way", [payment({ amount: usdc(11_000_000) })], null],
  ["an amount is unknown", [payment()], null],
  ["a swap is under way", [swap({ amount: usdc(1) })], null],
])("left to send while %s", (_, underWay, left) => {
  expect(leftToSend(checkout(), underWay)).toEqual(left === null ? null : usdc(left));
});

test("what was credited is not to be sent again", () => {
  const partly = checkout({ amount_paid: usdc(3_000_000), amount_remaining: usdc(7_500_000) });
  expect(leftToSend(partly, [payment({ amount: usdc(500_000) })])).toEqual(usdc(7_000_000));
});

function shown(screen: Screen): HTMLElement {
  const panel = document.createElement("div");
  panel.append(...screen.nodes);
  return panel;
}

const drawn = (different: Partial<Checkout> = {}, underWay: Payment[] = []): Screen =>
  depositScreen(ADDRESS, checkout(different), underWay, () => undefined);

test("screen names the network before the amount and the address", () => {
  const text = shown(drawn()).textContent ?? "";
  const places = ["Send only on Local Chain (chain ID 31337)", "10.50", ADDRESS].map((part) => text.indexOf(part));
  expect(places).toEqual([...places].sort((one, other) => one - other));
  expect(places[0]).toBeGreaterThanOrEqual(0);
});

test("amount to copy has a decimal point in every language", async () => {
  writePage("de");
  vi.resetModules();
  const { depositScreen: inGerman } = await import("../../src/deposit/main");
  const panel = shown(inGerman(ADDRESS, checkout(), [], () => undefined));
  expect(panel.querySelector("#deposit-amount")?.textContent).toBe("10.50");
  writePage();
  vi.resetModules();
});

test("copied address and amount have nothing beside them", () => {
  const panel = shown(drawn());
  const copied = [...panel.querySelectorAll<HTMLElement>("[data-copy]")].map(({ dataset }) => panel.querySelector(`#${dataset.copy}`)?.textContent);
  expect(copied).toEqual(["10.50", ADDRESS]);
  expect(panel.querySelector("#deposit-address")?.getAttribute("translate")).toBe("no");
});

test("arrival that is a part shows its confirmations and what is missing", () => {
  const underWay = [payment({ amount: usdc(9_000_000), confirmations: 2 })];
  const screen = drawn({}, underWay);
  const panel = shown(screen);
  expect(panel.querySelector(".arrivals li")?.textContent).toBe("9.00 USDC Confirmations 2 of 12");
  expect(panel.textContent).toContain("1.50 USDC is still missing. Send it to the same address.");
  expect(panel.querySelector("#deposit-amount")?.textContent).toBe("1.50");
  // The payment is in progress, so the page offers no other way to pay.
  expect(panel.querySelector("#other-way")).toBeNull();
});

test("credited part is shown with the rest and another way to pay", () => {
  const panel = shown(drawn({ amount_paid: usdc(9_000_000), amount_remaining: usdc(1_500_000) }));
  expect(panel.textContent).toContain("9.00 of 10.50 USDC received");
  expect(panel.textContent).toContain("Send it to the same address.");
  expect(panel.querySelector("#other-way")).not.toBeNull();
});

function flowOf(request: Checkout, script = "../../src/deposit/main"): { flow: Flow; choseAddress: ReturnType<typeof vi.fn> } {
  const choseAddress = vi.fn();
  const none = (): undefined => undefined;
  const events = { changed: none, connected: none, chose: none, choseAddress, promptOpened: () => 1, promptAnswered: none, sent: none };
  const flow = new Flow({
    api: new Api("req_1"),
    chains,
    checkout: () => request,
    now: () => NOW,
    isStillDue: async () => true,
    siblingOf: () => null,
    offersSwaps: false,
    mayBatch: () => true,
    choice: { paysFee: false },
    depositScript: script,
    payScript: "../../src/pay/main",
    sponsoredScript: "",
    events: { ...events, ...noBatches, signed: async () => null, requestChanged: none },
  });
  return { flow, choseAddress };
}

beforeEach(() => {
  writePage();
  document.body.insertAdjacentHTML("beforeend", '<form id="by-address"></form><p id="send-yourself" hidden></p>');
});

const isHidden = (id: string): boolean => document.getElementById(id)?.hidden === true;

test("address is requested once, however often the customer comes back", async () => {
  const calls = respond(json({ address: ADDRESS }));
  const { flow, choseAddress } = flowOf(checkout());
  await flow.depositWay.choose();
  expect(flow.step).toMatchObject({ at: "deposit", address: ADDRESS });
  expect(flow.depth).toBe(1);
  flow.back();
  expect(flow.step.at).toBe("choose");
  await flow.depositWay.choose();
  expect([flow.step.at, calls.mock.calls.length, choseAddress.mock.calls.length]).toEqual(["deposit", 1, 2]);
});

test("address that was shown before needs no call", async () => {
  const calls = respond();
  const { flow } = flowOf(checkout({ deposit_address: ADDRESS }));
  await flow.depositWay.choose();
  expect(flow.step).toMatchObject({ at: "deposit", address: ADDRESS });
  expect(calls).not.toHaveBeenCalled();
});

test("unavailable address leads back and brings the page on manual transfers", async () => {
  respond(refusal(409, "deposit_address_unavailable", "The merchant has not switched on deposit addresses."));
  const { flow, choseAddress } = flowOf(checkout());
  await flow.depositWay.choose();
  const notice = "There is no address for this payment at the moment. Please pay another way.";
  expect(flow.step).toMatchObject({ at: "choose", notice: { text: notice } });
  expect([isHidden("by-address"), isHidden("send-yourself")]).toEqual([true, false]);
  expect(choseAddress).not.toHaveBeenCalled();
});

test("address that is withdrawn is no longer shown, nor remembered", async () => {
  const calls = respond(json({ address: ADDRESS }), refusal(503, "service_unavailable"));
  const { flow } = flowOf(checkout());
  await flow.depositWay.choose();
  flow.depositWay.withdraw();
  expect(flow.step).toMatchObject({ at: "choose", notice: { tone: "info" } });
  await flow.depositWay.choose();
  expect([flow.step.at, calls.mock.calls.length]).toEqual(["choose", 2]);
});

test("unreachable server leads back and leaves the way open", async () => {
  respond();
  const { flow } = flowOf(checkout());
  await flow.depositWay.choose();
  expect(flow.step.at).toBe("choose");
  expect([isHidden("by-address"), isHidden("send-yourself")]).toEqual([false, true]);
});

test("customer who goes back meanwhile stays at the wallets", async () => {
  respond(json({ address: ADDRESS }));
  const { flow } = flowOf(checkout());
  const choosing = flow.depositWay.choose();
  flow.back();
  await choosing;
  expect(flow.step).toEqual({ at: "choose" });
});

test("script that can't be loaded is said to be missing", async () => {
  respond(json({ address: ADDRESS }));
  const { flow } = flowOf(checkout(), "./no-such-part");
  await flow.depositWay.choose();
  expect(flow.step).toMatchObject({ at: "choose", notice: { tone: "error" } });
});

test("form chooses the way instead of being sent", async () => {
  respond(json({ address: ADDRESS }));
  const { flow } = flowOf(checkout());
  const submit = new Event("submit", { cancelable: true });
  document.getElementById("by-address")?.dispatchEvent(submit);
  expect([flow.step.at, submit.defaultPrevented]).toEqual(["preparing", true]);
  await vi.waitFor(() => expect(flow.step.at).toBe("deposit"));
});
