/** What the page asks of an Ethereum wallet (EIP-1193, EIP-3326), and what its refusals mean. */

import type { EvmTransaction, Token } from "./types";
import type { Provider } from "./wallets";

export type Refusal = "rejected" | "unauthorized" | "unknown_chain" | "already_asking" | "disconnected" | "other";

/** A wallet said no, or failed. `detail` is the wallet's own wording: show it as text only. */
export class WalletError extends Error {
  constructor(
    readonly refusal: Refusal,
    readonly detail: string,
  ) {
    super(refusal);
  }
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "4001": "rejected",
  ACTION_REJECTED: "rejected",
  "4100": "unauthorized",
  "4902": "unknown_chain",
  "-32002": "already_asking",
  "4900": "disconnected",
  "4901": "disconnected",
};
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const TRANSFER_SELECTOR = "0xa9059cbb";

/** Asks for the accounts and returns the selected one. */
export async function connect(provider: Provider): Promise<string> {
  const account = firstAccount(await call(provider, "eth_requestAccounts"));
  if (!account) throw new WalletError("unauthorized", "");
  return account;
}

/** The first address of an `eth_accounts` answer or an `accountsChanged` event. */
export function firstAccount(accounts: unknown): string | null {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : null;
  return typeof first === "string" && ADDRESS.test(first) ? first : null;
}

export async function currentChain(provider: Provider): Promise<number> {
  return Number(await call(provider, "eth_chainId"));
}

/** Asks the wallet to change to `chainId` and returns the chain it is on afterwards. */
export async function switchChain(provider: Provider, chainId: number): Promise<number> {
  await call(provider, "wallet_switchEthereumChain", [{ chainId: `0x${chainId.toString(16)}` }]);
  return currentChain(provider);
}

/** Asks the wallet to sign and send, and returns the transaction hash. */
export async function sendTransaction(provider: Provider, transaction: EvmTransaction): Promise<string> {
  const given = Object.entries(transaction).filter(([, value]) => value !== null && value !== undefined);
  const hash = await call(provider, "eth_sendTransaction", [Object.fromEntries(given)]);
  if (typeof hash !== "string" || !HASH.test(hash)) throw new WalletError("other", "");
  return hash;
}

export function isTransactionHash(text: string): boolean {
  return HASH.test(text);
}

/** Whether a built transaction moves exactly what the customer was shown, and nothing else. */
export function matchesReview(
  transaction: EvmTransaction,
  shown: { account: string; chainId: number; token: Token; recipient: string; rawAmount: string },
): boolean {
  if (Number(transaction.chainId) !== shown.chainId || !same(transaction.from, shown.account)) return false;
  const data = (transaction.data ?? "0x").toLowerCase();
  const value = BigInt(transaction.value ?? "0x0");
  if (!shown.token.contract_address) {
    return same(transaction.to, shown.recipient) && value === BigInt(shown.rawAmount);
  }
  const call =
    TRANSFER_SELECTOR +
    shown.recipient.slice(2).toLowerCase().padStart(64, "0") +
    BigInt(shown.rawAmount).toString(16).padStart(64, "0");
  return same(transaction.to, shown.token.contract_address) && value === 0n && data.startsWith(call);
}

function same(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

async function call(provider: Provider, method: string, params?: unknown[]): Promise<unknown> {
  try {
    return await provider.request(params ? { method, params } : { method });
  } catch (error) {
    throw understood(error);
  }
}

/** Wallets wrap the code that matters at different depths, so every one that is found is tried. */
function understood(error: unknown): WalletError {
  const queue: unknown[] = [error];
  let detail = "";
  for (let depth = 0; depth < 6 && queue.length > 0; depth += 1) {
    const item = queue.shift();
    if (typeof item !== "object" || item === null) continue;
    const { code, message, data, cause, originalError } = item as Record<string, unknown>;
    detail ||= typeof message === "string" ? message.slice(0, 200) : "";
    const refusal = REFUSALS[String(code)];
    if (refusal) return new WalletError(refusal, detail);
    queue.push(data, cause, originalError);
  }
  return new WalletError("other", detail);
}
