/** Adapts an Ethereum wallet (EIP-1193, EIP-3326) to the `Wallet` interface. */

import { webUrl } from "../dom";
import type { Chain } from "../server/types";
import { batchesOf } from "./batch";
import { transactionStatus } from "./evm-status";
import { matchesShown, readTransaction } from "./evm-review";
import { inTime, refusalOf, understood, WalletError } from "./refusals";
import type { Wallet, WalletFace } from "./wallet";

export interface Provider {
  request(call: { method: string; params?: unknown }): Promise<unknown>;
  on?(event: string, listener: (value: unknown) => void): unknown;
  removeListener?(event: string, listener: (value: unknown) => void): unknown;
}

const ADDRESS = /^0x[0-9a-f]{40}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const SIGNATURE = /^0x([0-9a-f]{2})+$/i;
const SETTLING_MS = 200;
const SETTLING_CHECKS = 10;

export function ethereumWallet(face: WalletFace, provider: Provider): Wallet {
  const ask = (method: string, params?: unknown[]): Promise<unknown> => call(provider, method, params);
  const query = (method: string, params?: unknown[]): Promise<unknown> => inTime(ask(method, params));
  const chain = async (): Promise<number> => Number(await query("eth_chainId"));
  return {
    ...face,
    family: "evm",
    chain,
    async connect() {
      const account = firstAccount(await ask("eth_requestAccounts"));
      if (!account) throw new WalletError("unauthorized", "");
      return account;
    },
    async accounts() {
      return addresses(await query("eth_accounts"));
    },
    async switchTo(chainId, details) {
      const params = [{ chainId: `0x${chainId.toString(16)}` }];
      try {
        await ask("wallet_switchEthereumChain", params);
      } catch (error) {
        const addition = MAY_BE_UNKNOWN.includes(refusalOf(error)) ? additionOf(details) : null;
        if (!addition) throw error;
        await ask("wallet_addEthereumChain", [addition]);
        // Some wallets add a network, but don't switch to it.
        if ((await chain()) !== chainId) await ask("wallet_switchEthereumChain", params);
      }
      return settled(chain, chainId);
    },
    matches: (transaction, shown) => typeof transaction === "object" && matchesShown(transaction, shown),
    read: (transaction, shown) => (typeof transaction === "object" ? readTransaction(transaction, shown) : null),
    async sign(account, message) {
      return bytesOf(await ask("personal_sign", [hexOf(message), account]), SIGNATURE);
    },
    async authorize(account, transfer) {
      return { signature: bytesOf(await ask("eth_signTypedData_v4", [account, JSON.stringify(transfer)]), SIGNATURE) };
    },
    async send(_, transaction) {
      const fields = Object.entries(transaction).filter(([, value]) => value !== null && value !== undefined);
      return bytesOf(await ask("eth_sendTransaction", [Object.fromEntries(fields)]), HASH);
    },
    async outcome(hash) {
      const receipt = (await query("eth_getTransactionReceipt", [hash])) as { status?: unknown } | null;
      return receipt ? Number(receipt.status) === 1 : null;
    },
    batches: batchesOf((call) => provider.request(call)),
    transactionStatus: (sent) => transactionStatus(query, sent),
    watch(changes) {
      const listeners: [string, (value: unknown) => void][] = [
        ["accountsChanged", (value) => changes.account(firstAccount(value))],
        ["chainChanged", (value) => changes.chain(Number(value))],
        ["disconnect", () => changes.offline()],
      ];
      for (const [event, listener] of listeners) provider.on?.(event, listener);
      return () => listeners.forEach(([event, listener]) => provider.removeListener?.(event, listener));
    },
  };
}

/** The errors of wallets for an unknown network. Some have only a message and no code. */
const MAY_BE_UNKNOWN = ["unknown_chain", "unsupported", "other"];

/** The parameters to add a network to the wallet (EIP-3085). Null if the network has no public node. */
function additionOf(chain: Chain | null): object | null {
  if (!chain?.wallet_rpc_url) return null;
  const symbol = chain.native_symbol;
  const explorer = webUrl(chain.explorer_url);
  return {
    chainId: `0x${chain.id.toString(16)}`,
    chainName: chain.name,
    nativeCurrency: { name: symbol, symbol, decimals: 18 },
    rpcUrls: [chain.wallet_rpc_url],
    ...(explorer ? { blockExplorerUrls: [explorer] } : {}),
  };
}

/** Wait for the switch, because some wallets respond before they have switched. */
async function settled(chain: () => Promise<number>, expected: number): Promise<number> {
  let now = await chain();
  for (let check = 0; check < SETTLING_CHECKS && now !== expected; check += 1) {
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS));
    now = await chain();
  }
  return now;
}

/** The addresses in a response to `eth_accounts` or in an `accountsChanged` event. */
function addresses(accounts: unknown): string[] {
  const values: unknown[] = Array.isArray(accounts) ? accounts : [];
  return values.filter((one): one is string => typeof one === "string" && ADDRESS.test(one));
}

function firstAccount(accounts: unknown): string | null {
  return addresses(accounts)[0] ?? null;
}

function bytesOf(answer: unknown, shape: RegExp): string {
  if (typeof answer !== "string" || !shape.test(answer)) throw new WalletError("other", "");
  return answer;
}

function hexOf(text: string): string {
  return [...new TextEncoder().encode(text)].reduce((hex, byte) => hex + byte.toString(16).padStart(2, "0"), "0x");
}

async function call(provider: Provider, method: string, params?: unknown[]): Promise<unknown> {
  try {
    return await provider.request(params ? { method, params } : { method });
  } catch (error) {
    throw understood(error);
  }
}
