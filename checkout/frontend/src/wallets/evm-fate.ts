/** Whether a transaction that a wallet sent was replaced by another one with its nonce. */

import type { Call, Fate, Followed } from "./wallet";

type Ask = (method: string, params?: unknown[]) => Promise<unknown>;

interface Found {
  hash: string;
  sender: string;
  nonce: number;
  call: Call;
}

/** How far back a replacement is looked for where the block of sending is not known. */
const MOST_BLOCKS = 2_000;

export async function fateOf(ask: Ask, sent: Followed): Promise<Fate> {
  const here = read(await ask("eth_getTransactionByHash", [sent.hash]));
  if (here) {
    // What a bundler or a relayer sends in the wallet's place has no nonce of the wallet's.
    if (!same(here.sender, sent.sender)) return { is: "unknown" };
    const fromBlock = sent.fromBlock ?? Number(await ask("eth_blockNumber"));
    return { is: "there", nonce: here.nonce, call: here.call, fromBlock };
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

/** Few nodes offer it. */
async function byNonce(ask: Ask, sender: string, nonce: number): Promise<Found | null> {
  const found = read(await ask("eth_getTransactionBySenderAndNonce", [sender, hex(nonce)]).catch(() => null));
  return found && same(found.sender, sender) && found.nonce === nonce ? found : null;
}

/** Halves the blocks since it was sent until one is left: the first after which the nonce was used. */
async function inBlocks(ask: Ask, { sender, fromBlock }: Followed, nonce: number): Promise<Found | null> {
  let last = Number(await ask("eth_blockNumber"));
  let before = Math.max(fromBlock ?? 0, last - MOST_BLOCKS, 0);
  while (last - before > 1) {
    const middle = Math.floor((before + last) / 2);
    // A node that no longer has the state of so old a block leaves the newer ones to look at.
    if (await isUsed(ask, sender, nonce, hex(middle)).catch(() => false)) last = middle;
    else before = middle;
  }
  const block = (await ask("eth_getBlockByNumber", [hex(last), true])) as { transactions?: unknown } | null;
  const all = Array.isArray(block?.transactions) ? block.transactions.map(read) : [];
  return all.find((one) => one && same(one.sender, sender) && one.nonce === nonce) ?? null;
}

function read(answer: unknown): Found | null {
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
