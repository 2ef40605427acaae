import type { Message } from "../../../checkout/frontend/src/solana/message";
import { highestFee, type SolanaPayment } from "../../../checkout/frontend/src/solana/payment";
import { ask, type Chain } from "./node";
import { readMoves, type Moves } from "./solana-moves";
import { readable } from "./transaction";
import type { Summary } from "./window";

const BUDGET = "ComputeBudget111111111111111111111111111111";
const CONFIRMED = { commitment: "confirmed" };
const TOKEN_ACCOUNT_BYTES = 165;

/** Describe a payment for the customer. */
export async function summarise(
  chain: Chain,
  symbols: Record<string, string>,
  payment: SolanaPayment,
  transaction: Uint8Array,
): Promise<Summary> {
  const { payer, mint, amount, decimals, to, opens, reference, fee } = payment;
  const symbol = mint === null ? chain.nativeSymbol : (symbols[mint] ?? "unknown token");
  const [owner, balance, deposit, warning] = await Promise.all([
    mint === null ? to : (opens?.owner ?? ownerOf(chain, to)),
    mint === null ? coinBalance(chain, payer) : tokenBalance(chain, payer, mint),
    opens ? depositFor(chain, opens.account) : 0n,
    tryOut(chain, transaction),
  ]);
  const coins = (lamports: bigint) => `${readable(lamports, 9)} ${chain.nativeSymbol}`;
  return {
    title: "Send",
    amount: readable(amount, decimals),
    symbol,
    counterparty: owner ? { label: "To", address: owner } : { label: "To account", address: to },
    contract: mint,
    balance: `${readable(balance, decimals)} ${symbol}`,
    isShort: balance < amount,
    reference,
    fee: { value: coins(fee) },
    ...(deposit > 0n ? { deposit: coins(deposit) } : {}),
    warning,
  };
}

/**
 * Describe a transaction that is more than one payment. Show the amounts or, if they can't be decoded, the programs.
 */
export async function summariseOther(
  chain: Chain,
  symbols: Record<string, string>,
  message: Message,
  transaction: Uint8Array,
): Promise<Summary> {
  const moves = readMoves(message);
  return moves
    ? summariseMoves(chain, symbols, message, moves, transaction)
    : summarisePrograms(chain, message, transaction);
}

async function summariseMoves(
  chain: Chain,
  symbols: Record<string, string>,
  message: Message,
  { token, coins, note }: Moves,
  transaction: Uint8Array,
): Promise<Summary> {
  const inCoins = (lamports: bigint) => `${readable(lamports, 9)} ${chain.nativeSymbol}`;
  const symbol = token ? (symbols[token.mint] ?? "unknown token") : chain.nativeSymbol;
  const { amount, decimals } = token ?? { amount: coins?.lamports ?? 0n, decimals: 9 };
  const [balance, warning] = await Promise.all([
    token ? tokenBalance(chain, message.payer, token.mint) : coinBalance(chain, message.payer),
    tryOut(chain, transaction),
  ]);
  return {
    title: "Send",
    amount: readable(amount, decimals),
    symbol,
    counterparty: token ? { label: "To account", address: token.to } : coins && { label: "To", address: coins.to },
    contract: token?.mint ?? null,
    ...(token && coins ? { besides: { value: inCoins(coins.lamports), to: coins.to } } : {}),
    ...(note ? { note } : {}),
    balance: `${readable(balance, decimals)} ${symbol}`,
    isShort: balance < amount,
    reference: null,
    fee: { value: inCoins(highestFee(message.instructions)) },
    warning,
  };
}

/** List the programs of a transaction. Only a simulation shows their effect. */
async function summarisePrograms(chain: Chain, message: Message, transaction: Uint8Array): Promise<Summary> {
  const programs = message.instructions.map(({ program }) => program).filter((program) => program !== BUDGET);
  const [balance, warning] = await Promise.all([coinBalance(chain, message.payer), tryOut(chain, transaction)]);
  const coins = (lamports: bigint) => `${readable(lamports, 9)} ${chain.nativeSymbol}`;
  return {
    title: programs.length > 1 ? `Run ${new Set(programs).size} programs` : "Run a program",
    amount: null,
    symbol: null,
    counterparty: { label: "Program", address: programs[0] ?? BUDGET },
    contract: null,
    balance: coins(balance),
    isShort: false,
    reference: null,
    fee: { value: coins(highestFee(message.instructions)) },
    warning,
  };
}

async function coinBalance(chain: Chain, owner: string): Promise<bigint> {
  const { value } = await ask<{ value: number }>(chain, "getBalance", [owner, CONFIRMED]);
  return BigInt(value);
}

async function tokenBalance(chain: Chain, owner: string, mint: string): Promise<bigint> {
  interface Held {
    account: { data: { parsed: { info: { tokenAmount: { amount: string } } } } };
  }
  const options = { encoding: "jsonParsed", ...CONFIRMED };
  const { value } = await ask<{ value: Held[] }>(chain, "getTokenAccountsByOwner", [owner, { mint }, options]);
  return value.reduce((sum, { account }) => sum + BigInt(account.data.parsed.info.tokenAmount.amount), 0n);
}

/** The owner of a token account, or null if the node doesn't know it. */
async function ownerOf(chain: Chain, account: string): Promise<string | null> {
  const options = { encoding: "jsonParsed", ...CONFIRMED };
  const { value } = await ask<{ value: { data?: { parsed?: { info?: { owner?: unknown } } } } | null }>(chain, "getAccountInfo", [account, options]);
  const owner = value?.data?.parsed?.info?.owner;
  return typeof owner === "string" ? owner : null;
}

/** The deposit for a new token account, or 0 if the account exists. */
async function depositFor(chain: Chain, account: string): Promise<bigint> {
  const options = { encoding: "base64", ...CONFIRMED };
  const { value } = await ask<{ value: unknown }>(chain, "getAccountInfo", [account, options]);
  if (value !== null) return 0n;
  return BigInt(await ask<number>(chain, "getMinimumBalanceForRentExemption", [TOKEN_ACCOUNT_BYTES]));
}

/** Simulate the transaction. Return the reason why it would fail, or null. */
async function tryOut(chain: Chain, transaction: Uint8Array): Promise<string | null> {
  const encoded = btoa(String.fromCharCode(...transaction));
  const options = { encoding: "base64", sigVerify: false, replaceRecentBlockhash: true, ...CONFIRMED };
  const { value } = await ask<{ value: { err: unknown; logs?: string[] } }>(chain, "simulateTransaction", [encoded, options]);
  return value.err === null ? null : (value.logs?.at(-1) ?? JSON.stringify(value.err)).slice(0, 200);
}
