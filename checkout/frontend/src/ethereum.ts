/** An Ethereum wallet (EIP-1193, EIP-3326) behind the interface that the flow knows. */

import { matchesShown } from "./evm-review";
import { understood, WalletError } from "./refusals";
import type { Wallet, WalletFace } from "./wallet";

export interface Provider {
  request(call: { method: string; params?: unknown }): Promise<unknown>;
  on?(event: string, listener: (value: unknown) => void): unknown;
  removeListener?(event: string, listener: (value: unknown) => void): unknown;
}

const ADDRESS = /^0x[0-9a-f]{40}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const SIGNATURE = /^0x([0-9a-f]{2})+$/i;

export function ethereumWallet(face: WalletFace, provider: Provider): Wallet {
  const ask = (method: string, params?: unknown[]): Promise<unknown> => call(provider, method, params);
  const chain = async (): Promise<number> => Number(await ask("eth_chainId"));
  return {
    ...face,
    family: "evm",
    chain,
    async connect() {
      const account = firstAccount(await ask("eth_requestAccounts"));
      if (!account) throw new WalletError("unauthorized", "");
      return account;
    },
    async switchTo(chainId) {
      await ask("wallet_switchEthereumChain", [{ chainId: `0x${chainId.toString(16)}` }]);
      return chain();
    },
    matches: (transaction, shown) => typeof transaction === "object" && matchesShown(transaction, shown),
    async sign(account, message) {
      return bytesOf(await ask("personal_sign", [hexOf(message), account]), SIGNATURE);
    },
    async send(_, transaction) {
      const given = Object.entries(transaction).filter(([, value]) => value !== null && value !== undefined);
      return bytesOf(await ask("eth_sendTransaction", [Object.fromEntries(given)]), HASH);
    },
    async outcome(hash) {
      const receipt = (await ask("eth_getTransactionReceipt", [hash])) as { status?: unknown } | null;
      return receipt ? Number(receipt.status) === 1 : null;
    },
    watch(accountChanged, chainChanged) {
      const accounts = (value: unknown): void => accountChanged(firstAccount(value));
      const chainId = (value: unknown): void => chainChanged(Number(value));
      provider.on?.("accountsChanged", accounts);
      provider.on?.("chainChanged", chainId);
      return () => {
        provider.removeListener?.("accountsChanged", accounts);
        provider.removeListener?.("chainChanged", chainId);
      };
    },
  };
}

/** The first address of an `eth_accounts` answer or an `accountsChanged` event. */
function firstAccount(accounts: unknown): string | null {
  const first: unknown = Array.isArray(accounts) ? accounts[0] : null;
  return typeof first === "string" && ADDRESS.test(first) ? first : null;
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
