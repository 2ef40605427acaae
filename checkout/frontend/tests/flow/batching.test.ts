import { beforeEach, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import { Batching, type Outcome } from "../../src/flow/batching";
import type { Means, Stage } from "../../src/flow/stage";
import type { Reviewed, Step } from "../../src/flow/states";
import { words } from "../../src/pay/words";
import { Api } from "../../src/server/api";
import type { EvmTransaction } from "../../src/server/types";
import type { Batches } from "../../src/wallets/batch";
import { matchesShown, readTransaction } from "../../src/wallets/evm-review";
import { WalletError, type Refusal } from "../../src/wallets/refusals";
import { chains, FAR, HERE, json, PAYER, RECIPIENT, refusal, respond, route, STRANGER, USDC, usdc, wallet } from "../fixtures";

const AMOUNT = 10_500_000;
const word = (hex: string): string => hex.replace("0x", "").toLowerCase().padStart(64, "0");
const approve = (amount: number, spender = STRANGER): EvmTransaction => ({
  chainId: "0x7a69",
  from: PAYER,
  to: USDC.contract_address,
  data: `0x095ea7b3${word(spender)}${word(amount.toString(16))}`,
  value: "0x0",
});
const swap: EvmTransaction = { chainId: "0x7a69", from: PAYER, to: STRANGER, data: "0xabcdef0123", value: "0x0" };

const approval = (...transactions: EvmTransaction[]): Response =>
  json({ approval_required: transactions.length > 0, spender: STRANGER, token: USDC, allowance: usdc(0), required: usdc(AMOUNT), transactions });
const built = (transaction: EvmTransaction = swap): Response =>
  json({ route_id: "route_1", chain_type: "evm", transaction, binding: "provider", payer_proof: null });

interface Run {
  outcome: Outcome;
  steps: Step[];
  notices: (string | undefined)[];
  send: ReturnType<typeof vi.fn>;
  events: Record<"promptOpened" | "promptAnswered" | "batchOpened" | "batchSent" | "batchDropped" | "changed", ReturnType<typeof vi.fn>>;
  quote: ReturnType<typeof vi.fn>;
  asked: ReturnType<typeof vi.fn>;
}

interface Script {
  batches?: Partial<Batches> | null;
  responses?: Response[];
  reviewed?: Partial<Reviewed>;
  mayBatch?: boolean;
  isDue?: boolean;
  chain?: number;
}

const send = vi.fn();

/** Pay the reviewed swap with a wallet that responds as scripted. */
async function run({ batches = {}, responses = [approval(approve(AMOUNT)), built()], ...script }: Script = {}): Promise<Run> {
  const steps: Step[] = [];
  const notices: (string | undefined)[] = [];
  const show = (_: unknown, notice?: { text: string }): void => void notices.push(notice?.text);
  const quote = vi.fn();
  const stage = {
    go: (step: Step) => void steps.push(step),
    restart: () => void steps.push({ at: "choose" }),
    review: show,
    blocked: show,
    quote,
    prompted: (_: string, answer: unknown) => answer,
    routeCache: { clear: () => undefined },
  };
  const [promptOpened, others] = [vi.fn(() => 7), () => vi.fn()];
  const events = { promptOpened, promptAnswered: others(), batchOpened: others(), batchSent: others(), batchDropped: others(), changed: others() };
  const means = { api: new Api("req_1"), chains, events, mayBatch: () => script.mayBatch ?? true };
  const usual: Batches = { areAtomic: async () => true, send, outcome: async () => ({ is: "pending" }) };
  const payer = wallet({
    matches: (transaction, shown) => matchesShown(transaction as EvmTransaction, shown),
    read: (transaction, shown) => readTransaction(transaction as EvmTransaction, shown),
    chain: async () => script.chain ?? HERE,
    ...(batches ? { batches: { ...usual, ...batches } } : {}),
  });
  const option = { chainId: HERE, token: USDC, balance: null, usd: null, logo: null, isRequested: false, isEnough: true };
  const through = [{ type: "swap", chain_id: HERE, contract_address: STRANGER, spender: STRANGER }];
  const reviewed: Reviewed = { wallet: payer, account: PAYER, option, route: route({ type: "swap", steps: through }), ...script.reviewed };
  const asked = respond(...responses);
  const batching = new Batching(stage as unknown as Stage, means as unknown as Means);
  const outcome = await batching.run(reviewed, async () => script.isDue ?? true, () => true);
  return { outcome, steps, notices, send, events, quote, asked };
}

const refusing = (kind: Refusal): Script => ({
  batches: {
    send: async () => {
      throw new WalletError(kind, "");
    },
  },
});

beforeEach(() => {
  send.mockReset();
  send.mockImplementation(async (id: string) => id.replace("0x", "0xff"));
});

test("approval and swap are sent together, after both were vetted", async () => {
  const ran = await run();
  const [id, account, chainId, transactions] = ran.send.mock.calls[0] as [string, string, number, EvmTransaction[]];
  expect([ran.outcome, account, chainId]).toEqual(["shown", PAYER, HERE]);
  expect(transactions).toEqual([approve(AMOUNT), swap]);
  expect(ran.steps.map(({ at }) => at)).toEqual(["confirming", "choose"]);
  const [confirming] = ran.steps;
  expect(confirming).toMatchObject({ plan: { asks: ["pay"], at: 0 } });
  expect("batch" in confirming! && confirming.batch?.map(({ party, contract }) => [party, contract])).toEqual([
    [STRANGER, USDC.contract_address],
    [null, STRANGER],
  ]);
  expect(ran.events.batchOpened).toHaveBeenCalledWith(
    { id, chainId: HERE, routeId: "route_1" },
    { wallet: "Stub Wallet", account: PAYER, prompt: 7, seconds: null },
  );
  expect(ran.events.batchSent).toHaveBeenCalledWith(id, id.replace("0x", "0xff"));
});

test("server is asked to build for a batch", async () => {
  const { asked } = await run();
  const bodies = asked.mock.calls.map(([, { body }]) => JSON.parse(body));
  expect(bodies).toEqual([{ route_id: "route_1" }, { route_id: "route_1", batch: true }]);
});

test("reset, approval and swap are one batch", async () => {
  const ran = await run({ responses: [approval(approve(0), approve(AMOUNT)), built()] });
  expect(ran.send.mock.calls[0]?.[3]).toHaveLength(3);
});

test.each<[string, Script]>([
  ["has no batches", { batches: null }],
  ["isn't atomic now", { batches: { areAtomic: async () => false } }],
  ["already has the permission", { responses: [approval()] }],
  ["can't be verified", { responses: [approval(approve(AMOUNT)), refusal(409, "batch_unavailable")] }],
  ["meets an earlier release of the server", { responses: [approval(approve(AMOUNT)), refusal(400, "parameter_unknown")] }],
  ["left a batch in doubt", { mayBatch: false }],
  ["pays directly", { reviewed: { route: route() } }],
  ["rejects the batch", refusing("batch_refused")],
])("wallet that %s gets the ordinary prompts", async (_, script) => {
  const ran = await run(script);
  expect([ran.outcome, ran.send.mock.calls]).toEqual(["ordinary", []]);
  expect(ran.events.promptAnswered.mock.calls).toHaveLength(ran.events.promptOpened.mock.calls.length);
});

test.each<[string, Response[]]>([
  ["an approval of more", [approval(approve(AMOUNT + 1)), built()]],
  ["an approval for another contract", [approval(approve(AMOUNT, RECIPIENT)), built()]],
  ["a reset that isn't one", [approval(approve(1), approve(AMOUNT)), built()]],
  ["a call of another contract", [approval(approve(AMOUNT)), built({ ...swap, to: RECIPIENT })]],
  ["a call with coins", [approval(approve(AMOUNT)), built({ ...swap, value: "0x1" })]],
  ["a call from another account", [approval(approve(AMOUNT)), built({ ...swap, from: RECIPIENT })]],
])("batch with %s never reaches the wallet", async (_, responses) => {
  const ran = await run({ responses });
  expect([ran.outcome, ran.notices, ran.send.mock.calls]).toEqual(["shown", [words.notices.mismatch], []]);
  expect(ran.events.batchOpened).not.toHaveBeenCalled();
});

test("expired offer is quoted again before any prompt", async () => {
  const ran = await run({ responses: [approval(approve(AMOUNT)), refusal(409, "route_expired")] });
  expect([ran.outcome, ran.send.mock.calls]).toEqual(["shown", []]);
  expect(ran.quote.mock.calls[0]?.[2].text).toBe(words.notices.priceChanged(false));
});

test("request that was paid meanwhile opens no prompt", async () => {
  expect((await run({ isDue: false })).send).not.toHaveBeenCalled();
});

test("wallet that left the network opens no prompt", async () => {
  const ran = await run({ chain: FAR });
  expect([ran.notices, ran.send.mock.calls]).toEqual([[copy.notices.wrongNetwork("Local Chain")], []]);
});

test.each<[Refusal, string]>([
  ["rejected", copy.notices.rejectedPayment],
  ["upgrade_refused", copy.batch.twice("Stub Wallet")],
  ["unauthorized", copy.notices.unauthorized],
])("batch that is %s is forgotten, and said", async (kind, text) => {
  const ran = await run(refusing(kind));
  const [opened] = ran.events.batchOpened.mock.calls[0] as [{ id: string }];
  expect([ran.outcome, ran.notices]).toEqual(["shown", [text]]);
  expect(ran.events.batchDropped).toHaveBeenCalledWith(opened.id);
  expect(ran.events.promptAnswered).toHaveBeenCalledWith(7);
});

test("batch whose answer is lost stays on record with its prompt", async () => {
  const ran = await run(refusing("other"));
  expect(ran.notices).toEqual([copy.notices.maybeSent]);
  expect(ran.events.batchDropped).not.toHaveBeenCalled();
  expect(ran.events.promptAnswered).not.toHaveBeenCalled();
});
