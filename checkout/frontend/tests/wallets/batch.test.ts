import { describe, expect, test, vi } from "vitest";
import type { EvmTransaction } from "../../src/server/types";
import { batchesOf, newBatchId, type BatchOutcome } from "../../src/wallets/batch";
import { refusalOf } from "../../src/wallets/refusals";
import { HASH, HERE, PAYER, STRANGER } from "../fixtures";

const OTHER = `0x${"56".repeat(32)}`;
const ID = `0x${"b1".repeat(32)}`;
const transaction: EvmTransaction = { chainId: "0x7a69", from: PAYER, to: STRANGER, data: "0x1234", gas: "0x5208", maxFeePerGas: "0x1" };

function answering(answer: unknown): { batches: ReturnType<typeof batchesOf>; asked: unknown[] } {
  const asked: unknown[] = [];
  const request = async (call: unknown): Promise<unknown> => {
    asked.push(call);
    if (answer instanceof Error || (answer as { code?: number } | null)?.code) throw answer;
    return answer;
  };
  return { batches: batchesOf(request), asked };
}

const isAtomic = (answer: unknown): Promise<boolean> => answering(answer).batches.areAtomic(PAYER, HERE);
const outcome = (answer: unknown): Promise<BatchOutcome> => answering(answer).batches.outcome(ID, HERE);
const receipt = (transactionHash: unknown = HASH, status = "0x1"): object => ({ transactionHash, status, logs: [] });

describe("capabilities", () => {
  test.each([
    ["of the chain", { "0x7a69": { atomic: { status: "supported" } } }, true],
    ["of the chain in another form", { "0x07A69": { atomic: { status: "supported" } } }, true],
    ["of all chains", { "0x0": { atomic: { status: "supported" } } }, true],
    ["of another chain", { "0x1": { atomic: { status: "supported" } } }, false],
    ["of all chains but this one", { "0x0": { atomic: { status: "supported" } }, "0x7a69": { atomic: { status: "unsupported" } } }, false],
    ["of all chains, beside others of this one", { "0x0": { atomic: { status: "supported" } }, "0x7a69": { paymasterService: {} } }, true],
    ["that need an upgrade", { "0x7a69": { atomic: { status: "ready" } } }, false],
    ["of the draft", { "0x7a69": { atomicBatch: { supported: true } } }, false],
    ["without a status", { "0x7a69": { atomic: true } }, false],
    ["that are empty", {}, false],
    ["that are null", null, false],
    ["that are refused", { code: 4200 }, false],
    ["that fail", new Error("no"), false],
  ])("%s are read", async (_, answer, expected) => {
    expect(await isAtomic(answer)).toBe(expected);
  });

  test("of a silent wallet are none after a moment", async () => {
    vi.useFakeTimers();
    const asked = batchesOf(() => new Promise(() => undefined)).areAtomic(PAYER, HERE);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await asked).toBe(false);
  });

  test("are requested for this account and chain", async () => {
    const { batches, asked } = answering({});
    await batches.areAtomic(PAYER, HERE);
    expect(asked).toEqual([{ method: "wallet_getCapabilities", params: [PAYER, ["0x7a69"]] }]);
  });
});

describe("sending", () => {
  test("asks for all calls or none, with nothing but their target, data and value", async () => {
    const { batches, asked } = answering({ id: "0x77" });
    expect(await batches.send(ID, PAYER, HERE, [transaction, { ...transaction, value: "0x5" }])).toBe("0x77");
    const calls = [{ to: STRANGER, data: "0x1234", value: "0x0" }, { to: STRANGER, data: "0x1234", value: "0x5" }];
    const batch = { version: "2.0.0", id: ID, from: PAYER, chainId: "0x7a69", atomicRequired: true, calls };
    expect(asked).toEqual([{ method: "wallet_sendCalls", params: [batch] }]);
  });

  test.each([["0x88", "0x88"], [{ id: "" }, ID], [{ id: 7 }, ID], [null, ID], [{ id: "x".repeat(9_000) }, ID]])(
    "answer %j gives the id",
    async (answer, id) => {
      expect(await answering(answer).batches.send(ID, PAYER, HERE, [transaction])).toBe(id);
    },
  );

  test.each([
    [4001, "rejected"],
    [4100, "unauthorized"],
    [4200, "batch_refused"],
    [-32601, "batch_refused"],
    [-32602, "batch_refused"],
    [5700, "batch_refused"],
    [5710, "batch_refused"],
    [5720, "other"],
    [5740, "batch_refused"],
    [5750, "upgrade_refused"],
    [5760, "batch_refused"],
    [-32603, "other"],
  ])("error %i means %s", async (code, refusal) => {
    const sent = answering({ code, message: "no" }).batches.send(ID, PAYER, HERE, [transaction]);
    expect(await sent.then(() => "none", refusalOf)).toBe(refusal);
  });

  test("ids are 32 bytes, and differ", () => {
    expect(newBatchId()).toMatch(/^0x[0-9a-f]{64}$/);
    expect(newBatchId()).not.toBe(newBatchId());
  });
});

describe("outcome", () => {
  const mined = { is: "mined", hash: HASH };

  test.each<[string, unknown, BatchOutcome]>([
    ["pending", { status: 100 }, { is: "pending" }],
    ["pending with a receipt", { status: 100, receipts: [receipt()] }, { is: "pending" }],
    ["confirmed", { status: 200, atomic: true, chainId: "0x7a69", receipts: [receipt()] }, mined as BatchOutcome],
    ["confirmed, as text", { status: "200", receipts: [receipt()] }, mined as BatchOutcome],
    ["confirmed in version 1.0", { status: "CONFIRMED", receipts: [receipt()] }, mined as BatchOutcome],
    ["pending in version 1.0", { status: "PENDING" }, { is: "pending" }],
    ["confirmed, on a chain that is null", { status: 200, chainId: null, receipts: [receipt()] }, mined as BatchOutcome],
    ["confirmed without a receipt", { status: 200, receipts: [] }, { is: "pending" }],
    ["confirmed with the batch's id in place of a hash", { status: 200, receipts: [receipt("0x77")] }, { is: "pending" }],
    ["confirmed by one transaction for each call", { status: 200, atomic: false, receipts: [receipt(OTHER), receipt()] }, mined as BatchOutcome],
    ["given up", { status: 400 }, { is: "unsent" }],
    ["reverted", { status: 500, receipts: [receipt(HASH, "0x0")] }, mined as BatchOutcome],
    ["reverted without a receipt", { status: 500, receipts: [] }, { is: "reverted" }],
    ["reverted in several transactions", { status: 500, atomic: false, receipts: [receipt(OTHER), receipt()] }, { is: "reverted" }],
    ["partial", { status: 600, atomic: false, receipts: [receipt(OTHER), receipt()] }, { is: "partial", hash: HASH }],
    ["partial without a receipt", { status: 600, atomic: false }, { is: "partial", hash: null }],
    ["of another chain", { status: 200, chainId: "0x1", receipts: [receipt()] }, { is: "unknown" }],
    ["of no known status", { status: 700 }, { is: "unknown" }],
    ["without a status", {}, { is: "unknown" }],
    ["null", null, { is: "unknown" }],
    ["not known", { code: 5730, message: "no such batch" }, { is: "unknown" }],
  ])("that is %s is read", async (_, answer, expected) => {
    expect(await outcome(answer)).toEqual(expected);
  });

  test("of a wallet that fails is not known to be lost", async () => {
    await expect(outcome({ code: 4900, message: "offline" })).rejects.toMatchObject({ refusal: "disconnected" });
  });
});
