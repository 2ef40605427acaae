import { beforeEach, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import { Flow } from "../../src/flow/flow";
import { words } from "../../src/pay/words";
import { reviewScreen } from "../../src/screens/review";
import type { PayContext } from "../../src/screens/context";
import { Api, ApiError } from "../../src/server/api";
import { Outbox } from "../../src/server/outbox";
import { WalletError } from "../../src/wallets/refusals";
import type { Wallet } from "../../src/wallets/wallet";
import { chains, checkout, HASH, HERE, json, locks, noBatches, NOW, PAYER, RECIPIENT, refusal, respond, route, STRANGER, USDC, wallet } from "../fixtures";

const SCRIPT = "../../src/sponsored/main";
const SIGNATURE = { signature: `0x${"1b".repeat(65)}` };
const ORDINARY = route({ id: "route_1", sponsored: false });
const SPONSORED = route({ id: "route_2", sponsored: true });

const MESSAGE = {
  from: PAYER,
  to: RECIPIENT,
  value: "10500000",
  validAfter: "0",
  validBefore: String(NOW / 1000 + 900),
  nonce: HASH,
};
const fields = (list: string): object[] =>
  list.split(",").map((text) => ({ name: text.split(" ")[1], type: text.split(" ")[0] }));

function built(message: object = {}): Response {
  const typed_data = {
    types: {
      EIP712Domain: fields("string name,string version,uint256 chainId,address verifyingContract"),
      TransferWithAuthorization: fields(
        "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce",
      ),
    },
    primaryType: "TransferWithAuthorization",
    domain: { name: "USD Coin", version: "2", chainId: HERE, verifyingContract: USDC.contract_address },
    message: { ...MESSAGE, ...message },
  };
  return json({ route_id: "route_2", chain_type: "evm", transaction: null, binding: "authorization", payer_proof: null, typed_data });
}

interface Page {
  flow: Flow;
  signed: ReturnType<typeof vi.fn>;
  send: ReturnType<typeof vi.fn>;
}

/** A page that reviews a payment which the customer can sign or send. */
async function reviewing(authorize: Wallet["authorize"], script = SCRIPT): Promise<Page> {
  const signed = vi.fn(async (): Promise<ApiError | null> => null);
  const none = (): undefined => undefined;
  const send = vi.fn(async () => HASH);
  const events = { changed: none, connected: none, chose: none, choseAddress: none, promptOpened: () => 1, promptAnswered: none, sent: none };
  const flow = new Flow({
    api: new Api("req_1"),
    chains,
    checkout: () => checkout(),
    now: () => NOW,
    isStillDue: async () => true,
    siblingOf: () => null,
    offersSwaps: false,
    choice: new Outbox("req_1"),
    depositScript: "",
    payScript: "../../src/pay/main",
    sponsoredScript: script,
    mayBatch: () => false,
    events: { ...events, ...noBatches, signed, requestChanged: none },
  });
  respond(json({ routes: [ORDINARY, SPONSORED] }));
  const able = { connect: async () => PAYER, accounts: async () => [PAYER], chain: async () => HERE, matches: () => true, read: () => null };
  await flow.choose(wallet({ ...able, send, ...(authorize ? { authorize } : {}) }));
  expect(flow.step.at).toBe("review");
  return { flow, signed, send };
}

async function pay({ flow }: Page): Promise<void> {
  if (flow.step.at === "review") await flow.pay(flow.step);
}

const routeId = ({ flow }: Page): string | undefined => ("route" in flow.step ? flow.step.route.id : undefined);
const notice = ({ flow }: Page): string | undefined => ("notice" in flow.step ? flow.step.notice?.text : undefined);

function panelOf({ flow }: Page): string {
  const panel = document.createElement("div");
  const context = { checkout: checkout(), chains, flow, warning: null } as unknown as PayContext;
  if (flow.step.at === "review") panel.append(...reviewScreen(flow.step, context).nodes);
  return panel.textContent ?? "";
}

beforeEach(() => vi.stubGlobal("navigator", { locks: locks() }));

test("route without a network fee is reviewed first", async () => {
  const page = await reviewing(async () => SIGNATURE);
  expect(routeId(page)).toBe("route_2");
  expect(panelOf(page)).toContain("Network feeNonepaid for you");
  expect(panelOf(page)).toContain("No network fee: Stub Wallet asks you to sign the transfer");
});

test("transfer is signed as the page made it, and its signature submitted", async () => {
  const authorize = vi.fn(async () => SIGNATURE);
  const page = await reviewing(authorize);
  respond(built({ to: RECIPIENT.toLowerCase() }));
  await pay(page);
  expect(authorize).toHaveBeenCalledWith(PAYER, expect.objectContaining({ message: MESSAGE }));
  expect(page.signed).toHaveBeenCalledWith(expect.objectContaining({ routeId: "route_2", authorization: SIGNATURE }));
  expect([page.send.mock.calls.length, page.flow.step.at]).toEqual([0, "choose"]);
});

test("customer can pay the network fee, and change their mind", async () => {
  const page = await reviewing(async () => SIGNATURE);
  for (const [button, id] of [[copy.sponsored.payFee, "route_1"], [copy.sponsored.payNoFee, "route_2"]] as const) {
    expect(panelOf(page)).toContain(button);
    if (page.flow.step.at === "review") page.flow.sponsoredWay.change(page.flow.step);
    expect(routeId(page)).toBe(id);
  }
});

test.each<[string, Wallet["authorize"], string]>([
  ["a wallet that signs no transfers", undefined, SCRIPT],
  ["a page whose script can't be loaded", async () => SIGNATURE, "./missing"],
  ["a request that can't be sponsored", async () => SIGNATURE, ""],
])("%s pays the network fee", async (_, authorize, script) => {
  const page = await reviewing(authorize, script);
  expect([routeId(page), panelOf(page).includes(copy.sponsored.payNoFee)]).toEqual(["route_1", false]);
});

test("transfer that differs from the review does not reach the wallet", async () => {
  const authorize = vi.fn(async () => SIGNATURE);
  const page = await reviewing(authorize);
  respond(built({ to: STRANGER }));
  await pay(page);
  expect([authorize.mock.calls.length, notice(page)]).toEqual([0, words.notices.mismatch]);
  expect(page.signed).not.toHaveBeenCalled();
});

test("declined signature returns to the review", async () => {
  const page = await reviewing(() => Promise.reject(new WalletError("rejected", "")));
  respond(built());
  await pay(page);
  expect([routeId(page), notice(page), page.signed.mock.calls.length]).toEqual(["route_2", copy.notices.rejectedPayment, 0]);
});

test.each(["unsupported", "data_refused"] as const)("wallet that rejects typed data (%s) pays the network fee", async (refused) => {
  const page = await reviewing(() => Promise.reject(new WalletError(refused, "")));
  respond(built());
  await pay(page);
  expect([routeId(page), notice(page)]).toEqual(["route_1", copy.sponsored.cannotSign("Stub Wallet")]);
});

test("wallet that can't sign the transfer pays the network fee after a reload, too", async () => {
  const page = await reviewing(async () => SIGNATURE);
  page.signed.mockResolvedValue(new ApiError(400, "signature_invalid", "", null));
  respond(built());
  await pay(page);
  const reloaded = await reviewing(async () => SIGNATURE);
  expect(routeId(reloaded)).toBe("route_1");
  if (reloaded.flow.step.at === "review") reloaded.flow.sponsoredWay.change(reloaded.flow.step);
  expect([routeId(reloaded), new Outbox("req_1").paysFee]).toEqual(["route_2", false]);
});

test("budget that is used up when the route is built leaves the ordinary way", async () => {
  const authorize = vi.fn(async () => SIGNATURE);
  const page = await reviewing(authorize);
  respond(refusal(409, "sponsoring_unavailable"));
  await pay(page);
  expect([routeId(page), notice(page), authorize.mock.calls.length]).toEqual(["route_1", copy.sponsored.unavailable, 0]);
});

test.each<[string, string, string]>([
  ["sponsoring_unavailable", copy.sponsored.unavailable, "route_1"],
  ["signature_invalid", copy.sponsored.cannotSign("Stub Wallet"), "route_1"],
  ["payment_in_progress", "One is being sent.", "route_2"],
])("signature that the server rejects with %s is not lost without a word", async (code, text, id) => {
  const page = await reviewing(async () => SIGNATURE);
  page.signed.mockResolvedValue(new ApiError(409, code, "One is being sent.", null));
  respond(built());
  await pay(page);
  expect([routeId(page), notice(page)]).toEqual([id, text]);
});

test("signature that comes too late is requested again", async () => {
  const page = await reviewing(async () => SIGNATURE);
  page.signed.mockResolvedValue(new ApiError(409, "route_expired", "", null));
  respond(built(), json({ routes: [ORDINARY, route({ id: "route_3", sponsored: true })] }));
  await pay(page);
  expect([routeId(page), notice(page)]).toEqual(["route_3", copy.notices.proofTooLate]);
});

test("signature that comes after the customer left the prompt is submitted", async () => {
  let answer = (_: object): void => undefined;
  const page = await reviewing(() => new Promise((resolve) => (answer = resolve as typeof answer)));
  respond(built());
  const paid = pay(page);
  await vi.waitFor(() => expect(page.flow.step.at).toBe("confirming"));
  page.flow.leavePrompt();
  expect([page.flow.isPaymentOpen, notice(page)]).toEqual([true, copy.notices.leftOpen.proving]);
  answer(SIGNATURE);
  await paid;
  expect(page.signed).toHaveBeenCalledTimes(1);
});

test("expired route is replaced by another without a network fee", async () => {
  const page = await reviewing(async () => SIGNATURE);
  const renewed = route({ id: "route_3", sponsored: true });
  respond(refusal(409, "route_expired"), json({ routes: [ORDINARY, renewed] }), built());
  await pay(page);
  expect(page.signed).toHaveBeenCalledWith(expect.objectContaining({ routeId: "route_3" }));
});

test("fee that is no longer paid is reviewed before the customer pays it", async () => {
  const page = await reviewing(async () => SIGNATURE);
  respond(refusal(409, "route_expired"), json({ routes: [route({ id: "route_3" })] }));
  await pay(page);
  expect([routeId(page), notice(page), page.send.mock.calls.length]).toEqual(["route_3", copy.sponsored.unavailable, 0]);
});
