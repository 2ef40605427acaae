/**
 * Adapts Solana wallets (Wallet Standard) to the `Wallet` interface. This script is loaded when a Solana wallet
 * registers.
 */

import type { Chain } from "../server/types";
import { inTime, understood, WalletError } from "../wallets/refusals";
import { walletFace, type Wallet } from "../wallets/wallet";
import { fromBase58, toBase58 } from "./base58";
import { fromBase64, matchesShown, readSigned } from "./payment";

interface Account {
  address: string;
  chains: readonly string[];
}

/** The part of a wallet's registration that is used here. */
interface Registered {
  name: unknown;
  icon: unknown;
  chains: readonly string[];
  features: Readonly<Record<string, Readonly<Record<string, (input?: unknown) => unknown>>>>;
}

const CONNECT = "standard:connect";
const SEND = "solana:signAndSendTransaction";
const SIGN = "solana:signTransaction";
const SIGN_MESSAGE = "solana:signMessage";
const CLUSTERS: Readonly<Record<string, string>> = { "": "mainnet", local: "localnet" };
/** A node returns -32002 for a failed simulation. Wallets of other families return it if another prompt is open. */
const SIMULATION_FAILED = /simulation failed|blockhash/i;

/** Adapt a registered wallet for the networks that it supports. Return null if it supports none of them. */
export function solanaWallet(registered: unknown, chains: readonly Chain[]): Wallet | null {
  const networks = new Map(chains.map((chain) => [chain.id, clusterOf(chain)]));
  if (!isUsable(registered)) return null;
  for (const [id, cluster] of networks) if (!registered.chains.includes(cluster)) networks.delete(id);
  const face = walletFace(registered.name, registered.name, registered.icon);
  if (!face || networks.size === 0) return null;
  return { ...face, id: `solana:${face.id}`, family: "solana", ...methodsOf(registered, networks) };
}

/** The chain's name in the Wallet Standard. */
export function clusterOf(chain: Chain): string {
  return `solana:${CLUSTERS[chain.network] ?? chain.network}`;
}

function isUsable(value: unknown): value is Registered {
  const { chains, features } = (value ?? {}) as Partial<Registered>;
  return Boolean(Array.isArray(chains) && features?.[CONNECT] && (features[SEND] ?? features[SIGN]));
}

type WalletMethods = Omit<Wallet, "id" | "name" | "icon" | "family">;

/** A Solana wallet has no current network. Each call names the network. */
function methodsOf(wallet: Registered, networks: ReadonlyMap<number, string>): WalletMethods {
  const { features } = wallet;
  let accounts: readonly Account[] = [];
  let [[chainId, cluster] = [0, ""]] = networks;

  /** Call the method of a feature. The method's name is the part of the feature's name after the colon. */
  async function ask(feature: string, input?: unknown): Promise<unknown> {
    const method = features[feature]?.[feature.slice(feature.indexOf(":") + 1)];
    if (!method) throw new WalletError("unsupported", "");
    try {
      return await method(input);
    } catch (error) {
      throw explained(error);
    }
  }

  /** Call a feature for one account. Return the first result. */
  async function askFor(address: string, feature: string, input: object): Promise<Record<string, unknown>> {
    const account = accounts.find((one) => one.address === address);
    if (!account) throw new WalletError("unauthorized", "");
    const answers = await ask(feature, { account, ...input });
    return (Array.isArray(answers) ? answers[0] : null) ?? {};
  }

  function usable(): string[] {
    const here = accounts.filter(({ address, chains }) => chains.includes(cluster) && fromBase58(address, 32));
    return here.map(({ address }) => address);
  }

  function setAccounts(shared: unknown): string | null {
    accounts = Array.isArray(shared) ? shared : [];
    return usable()[0] ?? null;
  }

  return {
    async accounts() {
      const accounts = await inTime(ask(CONNECT, { silent: true }));
      setAccounts((accounts as { accounts?: unknown } | undefined)?.accounts);
      return usable();
    },
    chain: async () => chainId,
    async switchTo(newId) {
      if (networks.has(newId)) [chainId, cluster] = [newId, networks.get(newId) ?? ""];
      return chainId;
    },
    async connect() {
      // Without this feature, the wallet can only sign. The page itself doesn't send transactions.
      if (!features[SEND]) throw new WalletError("unsupported", "");
      const account = setAccounts(((await ask(CONNECT)) as { accounts?: unknown } | undefined)?.accounts);
      if (!account) throw new WalletError("unauthorized", "");
      return account;
    },
    matches: async (transaction, shown) => typeof transaction === "string" && matchesShown(transaction, shown),
    read: (transaction, shown) => (typeof transaction === "string" ? readSigned(transaction, shown) : null),
    async sign(account, message) {
      const answer = await askFor(account, SIGN_MESSAGE, { message: new TextEncoder().encode(message) });
      return signature(answer.signature);
    },
    authorize: features[SIGN]?.signTransaction && (async (account, transaction) => {
      const input = { transaction: fromBase64(String(transaction)), chain: cluster };
      const { signedTransaction: signed } = await askFor(account, SIGN, input);
      if (!(signed instanceof Uint8Array)) throw new WalletError("other", "");
      return { transaction: btoa(String.fromCharCode(...signed)) };
    }),
    async send(account, transaction) {
      const input = { transaction: fromBase64(String(transaction)), chain: cluster };
      return signature((await askFor(account, SEND, input)).signature);
    },
    watch(changes) {
      const listen = features["standard:events"]?.on as ((...args: unknown[]) => unknown) | undefined;
      const stop = listen?.("change", (change: { accounts?: unknown }) => {
        if (change.accounts) changes.account(setAccounts(change.accounts));
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

function explained(error: unknown): WalletError {
  const { refusal, detail } = understood(error);
  const isFailure = refusal === "already_asking" && SIMULATION_FAILED.test(detail);
  return new WalletError(isFailure ? "other" : refusal, detail);
}
