/**
 * The status of a sent transaction. Either the wallet's node knows the transaction, or another one with the same nonce
 * may have replaced it.
 */

import type { Call, TrackedTransaction, TransactionStatus } from "./wallet";

type Ask = (method: string, params?: unknown[]) => Promise<unknown>;

interface NodeTransaction {
  hash: string;
  sender: string;
  nonce: number;
  call: Call;
}

/** If it is unknown at which block the transaction was sent, search this many blocks for its replacement. */
const MAX_BLOCKS = 2_000;

export async function transactionStatus(ask: Ask, sent: TrackedTransaction): Promise<TransactionStatus> {
  const transaction = parse(await ask("eth_getTransactionByHash", [sent.hash]));
  if (transaction) {
    // If a bundler or relayer sends the transaction, it doesn't use the wallet's nonce.
    if (!same(transaction.sender, sent.sender)) return { is: "unknown" };
    const fromBlock = sent.fromBlock ?? Number(await ask("eth_blockNumber"));
    return { is: "known", nonce: transaction.nonce, call: transaction.call, fromBlock };
  }
  const { nonce, call, sender } = sent;
  if (nonce === null || !call || !(await isUsed(ask, sender, nonce, "latest"))) return { is: "unknown" };
  const other = (await byNonce(ask, sender, nonce)) ?? (await inBlocks(ask, sent, nonce));
  if (!other || same(other.hash, sent.hash)) return { is: "unknown" };
  return { is: "replaced", hash: other.hash, isSameCall: isSameCall(other.call, call) };
}

async function isUsed(ask: Ask, sender: string, nonce: number, block: string): Promise<boolean> {
  return Number(await ask("eth_getTransactionCount", [sender, block])) > nonce;
}

/** Look up the transaction by its nonce. Few nodes support that. */
async function byNonce(ask: Ask, sender: string, nonce: number): Promise<NodeTransaction | null> {
  const transaction = parse(await ask("eth_getTransactionBySenderAndNonce", [sender, hex(nonce)]).catch(() => null));
  return transaction && same(transaction.sender, sender) && transaction.nonce === nonce ? transaction : null;
}

/** Find the block in which the sender used this nonce, by binary search. Return the transaction with the nonce. */
async function inBlocks(ask: Ask, { sender, fromBlock }: TrackedTransaction, nonce: number): Promise<NodeTransaction | null> {
  let last = Number(await ask("eth_blockNumber"));
  let before = Math.max(fromBlock ?? 0, last - MAX_BLOCKS, 0);
  while (last - before > 1) {
    const middle = Math.floor((before + last) / 2);
    // If the node doesn't have the state of such an old block, search only newer blocks.
    if (await isUsed(ask, sender, nonce, hex(middle)).catch(() => false)) last = middle;
    else before = middle;
  }
  const block = (await ask("eth_getBlockByNumber", [hex(last), true])) as { transactions?: unknown } | null;
  const all = Array.isArray(block?.transactions) ? block.transactions.map(parse) : [];
  return all.find((one) => one && same(one.sender, sender) && one.nonce === nonce) ?? null;
}

function parse(answer: unknown): NodeTransaction | null {
  const { hash, from, nonce, to, value, input } = (answer ?? {}) as Record<string, unknown>;
  const isWhole = [hash, from, nonce, value, input].every((one) => typeof one === "string");
  if (!isWhole) return null;
  const call = { to: String(to ?? ""), value: String(value), input: String(input) };
  return { hash: String(hash).toLowerCase(), sender: String(from), nonce: Number(nonce), call };
}

function isSameCall(one: Call, other: Call): boolean {
  return same(one.to, other.to) && BigInt(one.value) === BigInt(other.value) && same(one.input, other.input);
}

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}
