/** Solana wallets (Wallet Standard) behind the interface that the flow knows. Loaded for Solana requests alone. */

import { understood, WalletError } from "../refusals";
import type { Chain } from "../types";
import { walletFace, type Wallet, type WalletsFound } from "../wallet";
import { fromBase58, toBase58 } from "./base58";
import { fromBase64, matchesReview } from "./payment";

interface Account {
  address: string;
  chains: readonly string[];
}

/** What a wallet registers; only what is used here. */
interface Registered {
  name: unknown;
  icon: unknown;
  chains: readonly string[];
  features: Readonly<Record<string, Readonly<Record<string, (input?: unknown) => unknown>>>>;
}

const SETTLED_AFTER_MS = 300;
const CONNECT = "standard:connect";
const SEND = "solana:signAndSendTransaction";
const SIGN = "solana:signTransaction";
const SIGN_MESSAGE = "solana:signMessage";
const CLUSTERS: Readonly<Record<string, string>> = { "": "mainnet", local: "localnet" };
/** Nodes call a failed trial run -32002, which wallets elsewhere answer while another question is open. */
const TRIED_IN_VAIN = /simulation failed|blockhash/i;
const DECLINED = /\buser (rejected|declined|denied|cancell?ed)\b/i;

export function discoverSolanaWallets(chain: Chain, onChange: WalletsFound): void {
  const cluster = `solana:${CLUSTERS[chain.network] ?? chain.network}`;
  const found = new Map<string, Wallet>();
  let settled = false;
  const tell = (): void => onChange([...found.values()], settled);

  const register = (...registered: unknown[]): (() => void) => {
    const names = registered.flatMap((wallet) => {
      const usable = isUsable(wallet, cluster) && walletFace(wallet.name, wallet.name, wallet.icon);
      if (!usable) return [];
      found.set(usable.name, { ...usable, ...solanaWallet(wallet, cluster, chain.id) });
      return [usable.name];
    });
    if (names.length > 0) tell();
    return () => {
      for (const name of names) found.delete(name);
      tell();
    };
  };
  const api = Object.freeze({ register });
  window.addEventListener("wallet-standard:register-wallet", (event) => {
    const callback = (event as CustomEvent<unknown>).detail;
    if (typeof callback === "function") callback(api);
  });
  window.dispatchEvent(new CustomEvent("wallet-standard:app-ready", { detail: api }));
  setTimeout(() => {
    settled = true;
    tell();
  }, SETTLED_AFTER_MS);
}

/** A transaction's signature, which is its name: 64 bytes in base58. */
export function isTransactionHash(text: string): boolean {
  return fromBase58(text, 64) !== null;
}

function isUsable(value: unknown, cluster: string): value is Registered {
  const { chains, features } = (value ?? {}) as Partial<Registered>;
  return Boolean(
    Array.isArray(chains) && chains.includes(cluster) && features?.[CONNECT] && (features[SEND] ?? features[SIGN]),
  );
}

type Doing = Omit<Wallet, "id" | "name" | "icon">;

function solanaWallet(wallet: Registered, cluster: string, chainId: number): Doing {
  const { features } = wallet;
  let accounts: readonly Account[] = [];

  /** Calls `feature`'s method, which is named as the feature is. */
  async function ask(feature: string, input?: unknown): Promise<unknown> {
    const method = features[feature]?.[feature.slice(feature.indexOf(":") + 1)];
    if (!method) throw new WalletError("unsupported", "");
    try {
      return await method(input);
    } catch (error) {
      throw explained(error);
    }
  }

  /** The first answer to a question about one account. */
  async function askFor(address: string, feature: string, input: object): Promise<Record<string, unknown>> {
    const account = accounts.find((one) => one.address === address);
    if (!account) throw new WalletError("unauthorized", "");
    const answers = await ask(feature, { account, ...input });
    return (Array.isArray(answers) ? answers[0] : null) ?? {};
  }

  function take(given: unknown): string | null {
    accounts = Array.isArray(given) ? given : [];
    const usable = accounts.find(({ address, chains }) => chains.includes(cluster) && fromBase58(address, 32));
    return usable?.address ?? null;
  }

  return {
    // A Solana wallet is on every one of its clusters at once: each call names the one that is meant.
    chain: async () => chainId,
    switchTo: async () => chainId,
    async connect() {
      // Without it the wallet can sign, but would leave the sending to the page.
      if (!features[SEND]) throw new WalletError("unsupported", "");
      const account = take(((await ask(CONNECT)) as { accounts?: unknown } | undefined)?.accounts);
      if (!account) throw new WalletError("unauthorized", "");
      return account;
    },
    matches: async (transaction, shown) => typeof transaction === "string" && matchesReview(transaction, shown),
    async sign(account, message) {
      const answer = await askFor(account, SIGN_MESSAGE, { message: new TextEncoder().encode(message) });
      return signature(answer.signature);
    },
    async send(account, transaction) {
      const input = { transaction: fromBase64(String(transaction)), chain: cluster };
      return signature((await askFor(account, SEND, input)).signature);
    },
    watch(accountChanged) {
      const listen = features["standard:events"]?.on as ((...given: unknown[]) => unknown) | undefined;
      const stop = listen?.("change", (change: { accounts?: unknown }) => {
        if (change.accounts) accountChanged(take(change.accounts));
      });
      return () => {
        if (typeof stop === "function") stop();
      };
    },
  };
}

function signature(bytes: unknown): string {
  if (!(bytes instanceof Uint8Array) || bytes.length !== 64) throw new WalletError("other", "");
  return toBase58(bytes);
}

/** Solana wallets often say in words alone that the customer declined. */
function explained(error: unknown): WalletError {
  const { refusal, detail } = understood(error);
  const isDeclined = refusal === "other" && DECLINED.test(detail);
  const isFailure = refusal === "already_asking" && TRIED_IN_VAIN.test(detail);
  return new WalletError(isDeclined ? "rejected" : isFailure ? "other" : refusal, detail);
}
