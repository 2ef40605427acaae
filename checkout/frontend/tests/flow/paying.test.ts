import { beforeEach, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import { Flow } from "../../src/flow/flow";
import { words } from "../../src/pay/words";
import { Api } from "../../src/server/api";
import type { Checkout } from "../../src/server/types";
import { WalletError } from "../../src/wallets/refusals";
import type { Wallet } from "../../src/wallets/wallet";
import { chains, checkout, HASH, HERE, json, locks, noBatches, NOW, PAYER, refusal, respond, route, usdc, wallet } from "../fixtures";

const BUILT = { route_id: "route_1", chain_type: "evm", transaction: {}, binding: "reference", payer_proof: null };

function payer(send: Wallet["send"], sign: Wallet["sign"]): Wallet {
  return wallet({
    sign,
    connect: async () => PAYER,
    accounts: async () => [PAYER],
    chain: async () => HERE,
    matches: () => true,
    read: () => null,
    send,
  });
}

interface Page {
  flow: Flow;
  shown: { checkout: Checkout };
  sent: ReturnType<typeof vi.fn>;
}

/** A page that shows the review of a payment of the remaining amount. */
async function reviewing(
  send: Wallet["send"],
  isStillDue: () => Promise<boolean> = async () => true,
  sign: Wallet["sign"] = async () => "0x1b",
): Promise<Page> {
  const page = opened(isStillDue);
  respond(json({ routes: [route()] }), json(BUILT), json(BUILT));
  await page.flow.choose(payer(send, sign));
  expect(page.flow.step.at).toBe("review");
  return page;
}

function opened(isStillDue: () => Promise<boolean> = async () => true, payScript = "../../src/pay/main"): Page {
  const shown = { checkout: checkout() };
  const sent = vi.fn();
  const flow = new Flow({
    api: new Api("req_1"),
    chains,
    checkout: () => shown.checkout,
    now: () => NOW,
    isStillDue,
    siblingOf: () => null,
    offersSwaps: false,
    mayBatch: () => true,
    choice: { paysFee: false },
    depositScript: "",
    payScript,
    sponsoredScript: "",
    events: {
      changed: () => undefined,
      connected: () => undefined,
      chose: () => undefined,
      choseAddress: () => undefined,
      promptOpened: () => 1,
      promptAnswered: () => undefined,
      sent,
      ...noBatches,
      signed: async () => null,
      requestChanged: () => undefined,
    },
  });
  return { flow, shown, sent };
}

async function pay({ flow }: Page): Promise<void> {
  if (flow.step.at === "review") await flow.pay(flow.step);
}

const notice = ({ flow }: Page): string | undefined => ("notice" in flow.step ? flow.step.notice?.text : undefined);

beforeEach(() => vi.stubGlobal("navigator", { locks: locks() }));

test("page whose part for paying can't be loaded says so", async () => {
  const page = opened(async () => true, "./missing");
  await page.flow.choose(payer(async () => HASH, async () => "0x1b"));
  expect([page.flow.step.at, notice(page)]).toEqual(["choose", copy.notices.pageIncomplete]);
});

test("payment that is still due is sent", async () => {
  const page = await reviewing(async () => HASH);
  await pay(page);
  expect(page.sent).toHaveBeenCalledWith({ transaction_hash: HASH, chain_id: HERE, route_id: "route_1" }, expect.anything());
});

test("request that was paid meanwhile opens no prompt", async () => {
  const send = vi.fn(async () => HASH);
  const isStillDue = vi.fn(async () => true);
  const page = await reviewing(send, isStillDue);
  isStillDue.mockResolvedValueOnce(true).mockResolvedValueOnce(false);
  await pay(page);
  expect([isStillDue.mock.calls.length, send.mock.calls.length, page.flow.step.at]).toEqual([2, 0, "review"]);
});

test("payment that the wallet can't afford is reviewed with other ways first", async () => {
  const page = await reviewing(async () => HASH);
  const reason = "The network fee needs 0.002 ETH; this wallet has 0.001 ETH.";
  respond(refusal(409, "insufficient_gas", reason));
  await pay(page);
  expect([page.flow.step.at, notice(page)]).toEqual(["review", reason]);
  expect("notice" in page.flow.step && page.flow.step.notice?.isLacking).toBe(true);
  expect(page.sent).not.toHaveBeenCalled();
});

test("request whose state can't be loaded opens no prompt", async () => {
  const send = vi.fn(async () => HASH);
  const page = await reviewing(send, async () => {
    respond(null);
    await new Api("req_1").wholeCheckout();
    return true;
  });
  await pay(page);
  expect([send.mock.calls.length, page.flow.step.at, notice(page)]).toEqual([0, "blocked", copy.errors.unreachable]);
});

test("amount that changed meanwhile is reviewed again", async () => {
  const send = vi.fn(async () => HASH);
  const page = await reviewing(send);
  page.shown.checkout = checkout({ amount_remaining: usdc(7_000_000) });
  respond(json({ routes: [route({ id: "route_2" })] }));
  await pay(page);
  expect([send.mock.calls.length, page.flow.step.at, notice(page)]).toEqual([0, "review", words.notices.amountChanged]);
});

test("second tab opens no prompt beside the first one's", async () => {
  let answer = (_: string): void => undefined;
  const here = await reviewing(() => new Promise((resolve) => (answer = resolve)));
  const send = vi.fn(async () => HASH);
  const there = await reviewing(send);
  respond(json(BUILT));
  void pay(here);
  await vi.waitFor(() => expect(here.flow.isPromptOpen).toBe(true));
  await pay(there);
  expect([send.mock.calls.length, notice(there)]).toEqual([0, words.notices.openElsewhere]);
  // The wallet's prompt stays open, but the customer may leave it and try again.
  here.flow.leavePrompt();
  expect(here.flow.isPromptOpen).toBe(true);
  answer(HASH);
  await vi.waitFor(() => expect(here.sent).toHaveBeenCalledTimes(1));
  expect(here.flow.isPromptOpen).toBe(false);
  respond(json(BUILT));
  await pay(there);
  expect(send).toHaveBeenCalledTimes(1);
});

test("signature that the wallet has not answered is an open prompt, but no payment", async () => {
  let answer = (_: string): void => undefined;
  const page = await reviewing(async () => HASH, async () => true, () => new Promise((resolve) => (answer = resolve)));
  respond(json({ ...BUILT, payer_proof: { message: "Sign", expires_at: "" } }), json({}));
  const paid = pay(page);
  await vi.waitFor(() => expect(page.flow.step.at).toBe("proving"));
  expect([page.flow.isPromptOpen, page.flow.isPaymentOpen]).toEqual([true, false]);
  answer("0x1b");
  await paid;
  expect(page.flow.isPromptOpen).toBe(false);
  expect(page.sent).toHaveBeenCalledTimes(1);
});

test("declined prompt is not open", async () => {
  const page = await reviewing(() => Promise.reject(new WalletError("rejected", "")));
  await pay(page);
  expect([page.flow.isPromptOpen, notice(page)]).toEqual([false, copy.notices.rejectedPayment]);
});
