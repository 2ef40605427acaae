import { expect, test, vi } from "vitest";
import { transactionStatus } from "../../src/wallets/evm-status";
import type { TrackedTransaction } from "../../src/wallets/wallet";
import { HASH, PAYER, RECIPIENT, STRANGER } from "../fixtures";

const NEW = `0x${"56".repeat(32)}`;
const CALL = { to: RECIPIENT, value: "0x0", input: "0xa9059cbb" };
const SENT: TrackedTransaction = { hash: HASH, sender: PAYER, nonce: 7, call: CALL, fromBlock: 10 };
const listed = { hash: NEW, from: PAYER.toLowerCase(), nonce: "0x7", ...CALL };

/** A node whose transaction with nonce 7 is in block 20 of 40. */
function node(answers: Record<string, unknown>): (method: string, params?: unknown[]) => Promise<unknown> {
  const usual: Record<string, (params: unknown[]) => unknown> = {
    eth_blockNumber: () => "0x28",
    eth_getTransactionCount: ([, block]) => (block === "latest" || Number(block) >= 20 ? "0x8" : "0x7"),
    eth_getBlockByNumber: ([number]) => ({ transactions: Number(number) === 20 ? [{ odd: 1 }, listed] : [] }),
  };
  return async (method, params = []) => {
    if (method in answers) return answers[method];
    if (usual[method]) return usual[method](params);
    throw new Error(`no ${method}`);
  };
}

test("transaction that the node knows gives its nonce and block", async () => {
  const ask = node({ eth_getTransactionByHash: { ...listed, hash: HASH } });
  const status = await transactionStatus(ask, { ...SENT, nonce: null, call: null, fromBlock: null });
  expect(status).toEqual({ is: "known", nonce: 7, call: CALL, fromBlock: 40 });
});

test("transaction of a relayer isn't followed", async () => {
  const ask = node({ eth_getTransactionByHash: { ...listed, hash: HASH, from: STRANGER } });
  expect(await transactionStatus(ask, SENT)).toEqual({ is: "unknown" });
});

test.each([
  ["by its nonce", { eth_getTransactionBySenderAndNonce: listed }],
  ["in the blocks", {}],
  ["in the blocks, if the node returns another nonce", { eth_getTransactionBySenderAndNonce: { ...listed, nonce: "0x6" } }],
])("replacement with the same call is found %s", async (_, answers) => {
  const ask = node({ eth_getTransactionByHash: null, ...answers });
  expect(await transactionStatus(ask, SENT)).toEqual({ is: "replaced", hash: NEW, isSameCall: true });
});

test.each([
  ["another recipient", { to: STRANGER }],
  ["another value", { value: "0x1" }],
  ["another call", { input: "0x" }],
])("replacement with %s is a cancellation", async (_, different) => {
  const other = { ...listed, ...different };
  const ask = node({ eth_getTransactionByHash: null, eth_getTransactionBySenderAndNonce: other });
  expect(await transactionStatus(ask, SENT)).toMatchObject({ is: "replaced", isSameCall: false });
});

test("unused nonce means that the transaction still waits", async () => {
  const ask = vi.fn(node({ eth_getTransactionByHash: null, eth_getTransactionCount: "0x7" }));
  expect(await transactionStatus(ask, SENT)).toEqual({ is: "unknown" });
  expect(ask).toHaveBeenCalledTimes(2);
});

test("transaction that was never seen can't be compared", async () => {
  const ask = node({ eth_getTransactionByHash: null });
  expect(await transactionStatus(ask, { ...SENT, nonce: null })).toEqual({ is: "unknown" });
});
