import { beforeEach, expect, test, vi } from "vitest";
import { BatchWatch } from "../../src/page/batches";
import { doubtful, isAwaited, type Batch, type BatchEnd } from "../../src/server/batches";
import { Outbox } from "../../src/server/outbox";
import type { BatchOutcome } from "../../src/wallets/batch";
import { WalletError } from "../../src/wallets/refusals";
import { HASH, HERE, NOW, PAYER, wallet } from "../fixtures";

const BY = { wallet: "Stub Wallet", account: PAYER, prompt: 1, seconds: 40 };
const [OURS, THEIRS] = ["0x01", "0x02"];

interface Page {
  outbox: Outbox;
  watch: BatchWatch;
  mined: ReturnType<typeof vi.fn>;
  ended: ReturnType<typeof vi.fn>;
  asked: ReturnType<typeof vi.fn>;
  says: (answer: BatchOutcome | "silent") => void;
}

/** A page whose wallet has accepted a batch. With `isConfirmed` false, the wallet never responded to it. */
function page({ isConfirmed = true, isShown = false, isInstalled = true } = {}): Page {
  const outbox = new Outbox("req_1");
  BY.prompt = outbox.promptOpened();
  outbox.openBatch({ id: OURS, chainId: HERE, routeId: "rt_1" }, BY);
  if (isConfirmed) outbox.confirmBatch(OURS, THEIRS);
  let answer: BatchOutcome | "silent" = { is: "pending" };
  const asked = vi.fn(async () => {
    if (answer === "silent") throw new WalletError("silent", "");
    return answer;
  });
  const stub = wallet({ batches: { areAtomic: async () => true, send: async () => "", outcome: asked } });
  const [mined, ended] = [vi.fn(), vi.fn()];
  const events = { isPromptShown: () => isShown, mined, ended, changed: () => undefined };
  const watch = new BatchWatch(outbox, () => (isInstalled ? [stub] : []), events);
  return { outbox, watch, mined, ended, asked, says: (next) => (answer = next) };
}

const minutesLater = (minutes: number): void => void vi.setSystemTime(NOW + minutes * 60_000);
const only = ({ outbox }: Page): Batch | undefined => outbox.batches[0];

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime(NOW);
});

test("confirmed batch is waited for, after a reload too", async () => {
  const here = page();
  await here.watch.check();
  expect(here.asked).toHaveBeenCalledWith(THEIRS, HERE);
  expect(new Outbox("req_1").batches.map(isAwaited)).toEqual([true]);
  expect(here.outbox.promptWasLeftOpen).toBe(false);
});

test("mined batch gives its hash, never its id", async () => {
  const here = page();
  here.says({ is: "mined", hash: HASH });
  await here.watch.check();
  expect(here.mined).toHaveBeenCalledWith(only(here), HASH);
  expect(here.ended).not.toHaveBeenCalled();
});

test("batch that the wallet gave up is forgotten", async () => {
  const here = page();
  here.says({ is: "unsent" });
  await here.watch.check();
  expect(here.ended).toHaveBeenCalledWith(expect.objectContaining({ ended: "unsent" }), null);
  expect(here.outbox.batches).toEqual([]);
});

test.each<[BatchEnd, BatchOutcome, string | null]>([
  ["reverted", { is: "reverted" }, null],
  ["partial", { is: "partial", hash: HASH }, HASH],
])("batch that is %s ends once, and stays in doubt", async (is, outcome, hash) => {
  const here = page();
  here.says(outcome);
  await here.watch.check();
  await here.watch.check();
  expect(here.ended).toHaveBeenCalledOnce();
  expect(here.ended).toHaveBeenCalledWith(expect.objectContaining({ ended: is }), hash);
  expect([only(here)?.ended, isAwaited(only(here)!), doubtful(here.outbox.batches)?.id]).toEqual([is, false, THEIRS]);
});

test.each([
  ["stays pending", { is: "pending" }, 9, 11],
  ["is no longer known", { is: "unknown" }, 0.4, 0.6],
  ["is asked of a silent wallet", "silent", 9, 11],
] as const)("batch that %s is lost after a while", async (_, answer, before, after) => {
  const here = page();
  here.says(answer);
  minutesLater(before);
  await here.watch.check();
  expect(only(here)?.ended).toBeNull();
  minutesLater(after);
  await here.watch.check();
  expect(only(here)?.ended).toBe("lost");
});

test("batch of a wallet that is gone is lost after a while", async () => {
  const here = page({ isInstalled: false });
  minutesLater(11);
  await here.watch.check();
  expect(only(here)?.ended).toBe("lost");
});

test("lost batch that turns up is submitted", async () => {
  const here = page();
  here.outbox.endBatch(THEIRS, "lost");
  here.says({ is: "mined", hash: HASH });
  minutesLater(60);
  await here.watch.check();
  expect(here.mined).toHaveBeenCalledOnce();
});

test("batch is not requested after a day, and is no longer in doubt", async () => {
  const here = page();
  here.outbox.endBatch(THEIRS, "lost");
  minutesLater(24 * 60 + 1);
  await here.watch.check();
  expect([here.asked.mock.calls, doubtful(here.outbox.batches)]).toEqual([[], null]);
});

test("batch confirmed after the page was closed is found by the page's own id", async () => {
  const here = page({ isConfirmed: false });
  await here.watch.check();
  expect(here.asked).toHaveBeenCalledWith(OURS, HERE);
  expect([only(here)?.isConfirmed, here.outbox.promptWasLeftOpen]).toEqual([true, false]);
});

test("batches are followed after an error", async () => {
  const here = page();
  here.says({ is: "mined", hash: HASH });
  here.mined.mockImplementationOnce(() => {
    throw new Error("no");
  });
  await expect(here.watch.check()).rejects.toThrow("no");
  await here.watch.check();
  expect(here.mined).toHaveBeenCalledTimes(2);
});

test("batch that was never confirmed leaves only its prompt", async () => {
  const here = page({ isConfirmed: false });
  here.says({ is: "unknown" });
  minutesLater(11);
  await here.watch.check();
  expect([only(here)?.ended, doubtful(here.outbox.batches), here.outbox.promptWasLeftOpen]).toEqual([null, null, true]);
});

test("batch whose prompt is open here is not requested", async () => {
  const here = page({ isConfirmed: false, isShown: true });
  await here.watch.check();
  expect(here.asked).not.toHaveBeenCalled();
});

test("record of an earlier release has no batches", () => {
  localStorage.setItem("quittance:req_1", JSON.stringify({ unsent: [], acknowledged: [], own: [], prompts: [] }));
  expect(new Outbox("req_1").batches).toEqual([]);
});
