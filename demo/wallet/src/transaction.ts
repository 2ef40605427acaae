import { formatUnits, getAddress, hexToBigInt, hexToString, isAddress, slice, size, type Address, type Hex } from "viem";
import { invalidParams } from "./errors";
import { ask, type Chain } from "./node";
import { readRouterCall, type RouterCall } from "./router-call";
import type { Summary } from "./window";

const TRANSFER = "0xa9059cbb";
const APPROVE = "0x095ea7b3";
const SYMBOL = "0x95d89b41";
const DECIMALS = "0x313ce567";
const BALANCE_OF = "0x70a08231";
const GWEI = 1_000_000_000n;

/** The parameters of `eth_sendTransaction`. */
export interface AskedTransaction {
  from?: Address;
  to?: Address;
  value?: Hex;
  data?: Hex;
  input?: Hex;
  gas?: Hex;
  gasPrice?: Hex;
  maxFeePerGas?: Hex;
  maxPriorityFeePerGas?: Hex;
  nonce?: Hex;
  chainId?: Hex;
}

export interface Prepared {
  to: Address | undefined;
  value: bigint;
  data: Hex;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** The probable cost and the maximum cost, in wei. */
  likelyFee: bigint;
  highestFee: bigint;
  /** The reason why the transaction would fail, from the node's simulation. Null if it would succeed. */
  warning: string | null;
}

interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  expectedPrice: bigint;
}

/** Add the values that the page left out: fees from the node, and estimated gas. */
export async function prepare(chain: Chain, account: Address, asked: AskedTransaction): Promise<Prepared> {
  if (asked.to !== undefined && !isAddress(asked.to, { strict: false })) throw invalidParams("`to` is not an address.");
  const to = asked.to && getAddress(asked.to);
  const value = quantity(asked.value) ?? 0n;
  const data = asked.data ?? asked.input ?? "0x";
  const [fees, estimate] = await Promise.all([findFees(chain, asked), estimateGas(chain, account, asked)]);
  const gas = quantity(asked.gas) ?? (estimate.gas * 12n) / 10n;
  return {
    to,
    value,
    data,
    gas,
    maxFeePerGas: fees.maxFeePerGas,
    maxPriorityFeePerGas: fees.maxPriorityFeePerGas,
    likelyFee: estimate.gas * fees.expectedPrice,
    highestFee: gas * fees.maxFeePerGas,
    warning: estimate.problem,
  };
}

async function estimateGas(chain: Chain, account: Address, asked: AskedTransaction) {
  const call = { from: account, to: asked.to, value: asked.value ?? "0x0", data: asked.data ?? asked.input ?? "0x" };
  try {
    return { gas: hexToBigInt(await ask(chain, "eth_estimateGas", [call])), problem: null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { gas: quantity(asked.gas) ?? 100_000n, problem: message.replace(/[:\s]*(0x)?[0-9a-f]{64,}/gi, "") };
  }
}

export async function findFees(chain: Chain, asked: AskedTransaction): Promise<Fees> {
  const block = await ask<{ baseFeePerGas?: Hex }>(chain, "eth_getBlockByNumber", ["latest", false]);
  const base = quantity(block.baseFeePerGas) ?? 0n;
  const flat = quantity(asked.gasPrice);
  const tip = quantity(asked.maxPriorityFeePerGas) ?? flat ?? (await suggestedTip(chain));
  const most = quantity(asked.maxFeePerGas) ?? flat ?? base * 2n + tip;
  const expected = base + tip < most ? base + tip : most;
  return { maxFeePerGas: most, maxPriorityFeePerGas: tip < most ? tip : most, expectedPrice: expected };
}

async function suggestedTip(chain: Chain): Promise<bigint> {
  try {
    return hexToBigInt(await ask(chain, "eth_maxPriorityFeePerGas"));
  } catch {
    return GWEI;
  }
}

/** Describe a transaction for the customer. `nameOf` returns the names of known chains. */
export async function summarise(
  chain: Chain,
  account: Address,
  transaction: Prepared,
  nameOf: (chainId: number) => string,
): Promise<Summary> {
  const { likelyFee, highestFee, warning } = transaction;
  const fee = summariseFee(chain, likelyFee, highestFee);
  const call = transaction.to && readRouterCall(transaction.data);
  const move = call
    ? await summariseRouterCall(chain, account, transaction, call, nameOf)
    : await summariseMove(chain, account, transaction);
  return { ...move, fee, warning };
}

export function summariseFee(chain: Chain, likely: bigint, highest: bigint): Summary["fee"] {
  const cost = (wei: bigint) => `${shorten(wei, 18)} ${chain.nativeSymbol}`;
  return { value: `about ${cost(likely)}`, detail: `${cost(highest)} at most` };
}

type Move = Omit<Summary, "fee" | "warning">;

async function summariseMove(chain: Chain, account: Address, transaction: Prepared): Promise<Move> {
  const { to, data, value } = transaction;
  const selector = size(data) >= 4 ? slice(data, 0, 4) : null;
  if (to && (selector === TRANSFER || selector === APPROVE) && size(data) >= 68 && value === 0n) {
    return summariseTokenCall(chain, account, to, data, selector === TRANSFER);
  }
  const isPlain = to !== undefined && (size(data) === 0 || !(await hasCode(chain, to)));
  const showsValue = isPlain || value > 0n;
  const balance = hexToBigInt(await ask(chain, "eth_getBalance", [account, "latest"]));
  return {
    title: to === undefined ? "Create a contract" : isPlain ? "Send" : "Call a contract",
    amount: showsValue ? readable(value, 18) : null,
    symbol: showsValue ? chain.nativeSymbol : null,
    counterparty: to ? { label: isPlain ? "To" : "Contract", address: to } : null,
    contract: null,
    balance: `${shorten(balance, 18)} ${chain.nativeSymbol}`,
    isShort: balance < value,
    reference: isPlain && size(data) > 0 ? data : null,
  };
}

async function summariseRouterCall(
  chain: Chain,
  account: Address,
  { to, value }: Prepared,
  call: RouterCall,
  nameOf: (chainId: number) => string,
): Promise<Move> {
  const { title, token, amount, receiver, targetChainId } = call;
  const { symbol, places, balance } = await readHolding(chain, account, token);
  const bridgeFee = value - (token === null ? amount : 0n);
  const on = targetChainId === null ? chain.name : nameOf(Number(targetChainId));
  return {
    title,
    amount: readable(amount, places),
    symbol,
    counterparty: to ? { label: "Contract", address: to } : null,
    contract: token,
    arrives: { at: receiver, on, bridgeFee: bridgeFee > 0n ? `${readable(bridgeFee, 18)} ${chain.nativeSymbol}` : null },
    balance: balance === null ? null : `${shorten(balance, places)} ${symbol}`,
    isShort: balance !== null && balance < amount,
    reference: null,
  };
}

interface Holding {
  symbol: string;
  places: number;
  balance: bigint | null;
}

/** The account's balance of a token, or of the chain's coin. */
async function readHolding(chain: Chain, account: Address, token: Address | null): Promise<Holding> {
  if (token === null) {
    const balance = hexToBigInt(await ask(chain, "eth_getBalance", [account, "latest"]));
    return { symbol: chain.nativeSymbol, places: 18, balance };
  }
  const [symbol, decimals, balance] = await Promise.all([
    readSymbol(chain, token),
    readNumber(chain, token, DECIMALS),
    readNumber(chain, token, `${BALANCE_OF}${account.slice(2).toLowerCase().padStart(64, "0")}`),
  ]);
  return { symbol, places: decimals === null ? 0 : Number(decimals), balance };
}

export async function summariseTokenCall(chain: Chain, account: Address, token: Address, data: Hex, isTransfer: boolean): Promise<Move> {
  const { symbol, places, balance } = await readHolding(chain, account, token);
  const amount = hexToBigInt(slice(data, 36, 68));
  return {
    title: isTransfer ? "Send" : "Allow spending",
    amount: readable(amount, places),
    symbol,
    counterparty: { label: isTransfer ? "To" : "Spender", address: getAddress(slice(data, 16, 36)) },
    contract: token,
    balance: balance === null ? null : `${shorten(balance, places)} ${symbol}`,
    isShort: isTransfer && balance !== null && balance < amount,
    reference: size(data) > 68 ? slice(data, 68) : null,
  };
}

async function hasCode(chain: Chain, address: Address): Promise<boolean> {
  return size(await ask(chain, "eth_getCode", [address, "latest"])) > 0;
}

async function read(chain: Chain, to: Address, data: string): Promise<Hex | null> {
  try {
    const answer = await ask(chain, "eth_call", [{ to, data }, "latest"]);
    return size(answer) > 0 ? answer : null;
  } catch {
    return null;
  }
}

async function readNumber(chain: Chain, token: Address, data: string): Promise<bigint | null> {
  const answer = await read(chain, token, data);
  return answer && hexToBigInt(size(answer) > 32 ? slice(answer, 0, 32) : answer);
}

/** A token's symbol: an ABI string or, in old tokens, 32 bytes. */
async function readSymbol(chain: Chain, token: Address): Promise<string> {
  const answer = await read(chain, token, SYMBOL);
  if (!answer) return "unknown token";
  const text = size(answer) >= 96 ? slice(answer, 64) : answer;
  return hexToString(text).replace(/[^\x20-\x7e]/g, "").slice(0, 16) || "unknown token";
}

function quantity(hex: Hex | undefined): bigint | undefined {
  return hex === undefined ? undefined : BigInt(hex);
}

/** Format an exact amount, with at least two fraction digits. */
export function readable(amount: bigint, decimals: number): string {
  const [whole, fraction = ""] = formatUnits(amount, decimals).split(".");
  return decimals === 0 ? group(whole!) : `${group(whole!)}.${fraction.padEnd(2, "0")}`;
}

function group(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Format an amount with at most six fraction digits, rounded down. */
export function shorten(amount: bigint, decimals: number): string {
  const [whole, fraction = ""] = formatUnits(amount, decimals).split(".");
  const kept = fraction.slice(0, 6).replace(/0+$/, "");
  if (whole === "0" && !kept && amount > 0n) return "< 0.000001";
  return kept ? `${group(whole!)}.${kept}` : group(whole!);
}
