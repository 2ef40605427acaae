import { beforeEach, expect, test, vi } from "vitest";
import { ApprovalFlow, type ApprovalResult } from "../../src/flow/approval";
import type { Stage } from "../../src/flow/stage";
import type { Reviewed, Step } from "../../src/flow/states";
import { words } from "../../src/pay/words";
import { Api } from "../../src/server/api";
import type { Approval, EvmTransaction } from "../../src/server/types";
import { chains, HASH, HERE, json, PAYER, respond, route, STRANGER, usdc, USDC, wallet } from "../fixtures";

const NEEDED = 10_500_000;
const transaction: EvmTransaction = { chainId: "0x7a69", from: PAYER, to: USDC.contract_address };

function approval(allowed: number, different: Partial<Approval> = {}): Approval {
  const token = { token: USDC, allowance: usdc(allowed), required: usdc(NEEDED), spender: STRANGER };
  return { approval_required: allowed < NEEDED, ...token, transactions: allowed < NEEDED ? [transaction] : [], ...different };
}

const resetting = (allowed: number): Approval => approval(allowed, { transactions: [transaction, transaction] });

interface Run {
  steps: Step[];
  review: ReturnType<typeof vi.fn>;
  send: ReturnType<typeof vi.fn>;
  result: ApprovalResult | null;
}

/** Run the approval; the server returns one of these allowances per call. */
async function run(...approvals: Approval[]): Promise<Run> {
  const steps: Step[] = [];
  const review = vi.fn();
  const send = vi.fn(async () => HASH);
  const stage = { go: (step: Step) => void steps.push(step), review, prompted: (_: string, answer: unknown) => answer, means: { chains } } as unknown as Stage;
  const payer = wallet({ matches: () => true, read: () => null, chain: async () => HERE, outcome: async () => true, send });
  const option = { chainId: HERE, token: USDC, balance: null, usd: null, logo: null, isRequested: false, isEnough: true };
  const through = [{ type: "swap", chain_id: HERE, contract_address: STRANGER, spender: STRANGER }];
  const reviewed: Reviewed = { wallet: payer, account: PAYER, option, route: route({ type: "swap", steps: through }) };
  respond(...approvals.map((each) => json(each)));
  const ended = new ApprovalFlow(stage, new Api("req_1")).run(reviewed, () => true);
  await vi.advanceTimersByTimeAsync(60_000);
  return { steps, review, send, result: await ended };
}

const asking = ({ steps }: Run) => steps.filter((step) => step.at === "approving" && !step.isMining);

beforeEach(() => vi.useFakeTimers());

test("whole allowance is requested once, and the payment follows", async () => {
  const ran = await run(approval(0), approval(NEEDED));
  expect([ran.send.mock.calls.length, ran.result]).toEqual([1, { asks: ["allow"] }]);
});

test("lowered allowance is said, and the next prompt comes at once", async () => {
  const ran = await run(approval(0), approval(5_000_000), approval(NEEDED));
  const [first, second] = asking(ran);
  expect(first).not.toHaveProperty("notice");
  expect(second).toMatchObject({ notice: { text: words.notices.allowedPart("5.00", "10.50 USDC") }, plan: { asks: ["allow", "pay"], at: 0 } });
  expect([ran.send.mock.calls.length, ran.result]).toEqual([2, { asks: ["allow"] }]);
});

test("lowered allowance of a token that needs a reset begins with it again", async () => {
  const ran = await run(approval(0), resetting(5_000_000), approval(0), approval(NEEDED));
  expect(asking(ran).map((step) => "plan" in step && [step.plan.asks, step.plan.at, "notice" in step])).toEqual([
    [["allow", "pay"], 0, false],
    [["reset", "allow", "pay"], 0, true],
    [["reset", "allow", "pay"], 1, false],
  ]);
  expect(ran.result).toEqual({ asks: ["reset", "allow"] });
});

test("allowance that the server doesn't see yet is not requested twice", async () => {
  const ran = await run(...Array.from({ length: 20 }, () => approval(0)));
  expect([ran.send.mock.calls.length, ran.result]).toEqual([1, null]);
  expect(ran.review.mock.lastCall?.[1].text).toBe(words.notices.approvalUnseen);
});

test("same part allowed again is said in the review", async () => {
  const ran = await run(...Array.from({ length: 20 }, () => approval(5_000_000)));
  expect([ran.send.mock.calls.length, ran.result]).toEqual([1, null]);
  expect(ran.review.mock.lastCall?.[1].text).toBe(words.notices.allowedPart("5.00", "10.50 USDC"));
});
