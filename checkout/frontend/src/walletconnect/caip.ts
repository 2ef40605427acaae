/** How WalletConnect names networks (CAIP-2) and accounts (CAIP-10), and what a wallet is asked to allow there. */

import type { Chain } from "../server/types";

/** What the page asks for, and nothing else: a wallet shows these to its owner. */
const ASKED: Readonly<Record<string, { methods: string[]; events: string[] }>> = {
  eip155: {
    methods: ["eth_sendTransaction", "personal_sign", "wallet_switchEthereumChain", "wallet_addEthereumChain"],
    events: ["accountsChanged", "chainChanged"],
  },
  // A signed transaction that the wallet leaves to the page is useless here: nothing would send it.
  solana: { methods: ["solana_signAndSendTransaction", "solana_signMessage"], events: ["accountsChanged"] },
};

/** What CAIP-2 calls a family of networks. */
export const SPACES: Readonly<Record<string, string>> = { evm: "eip155", solana: "solana" };

/** A Solana network goes by the first 32 letters of its first block's hash; one on this machine has no lasting one. */
const SOLANA: Readonly<Record<string, string>> = {
  "": "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  mainnet: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  devnet: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
  testnet: "4uhcVJyU9pJkvQyUS88uRDiswHXSCkY3",
  local: "localnet",
};

/** "eip155:8453"; null for a network that WalletConnect has no name for. */
export function caipOf(chain: Chain): string | null {
  const reference = chain.chain_type === "solana" ? SOLANA[chain.network] : String(chain.id);
  const space = SPACES[chain.chain_type];
  return space && reference ? `${space}:${reference}` : null;
}

export type Namespaces = Record<string, { chains: string[]; methods: string[]; events: string[] }>;

/** What is asked of a wallet that may pay on these networks. */
export function namespaces(chains: readonly Chain[]): Namespaces {
  const asked: Namespaces = {};
  for (const chain of chains) {
    const name = caipOf(chain);
    const space = SPACES[chain.chain_type] ?? "";
    const all = ASKED[space];
    if (!name || !all) continue;
    asked[space] ??= { chains: [], ...all };
    asked[space].chains.push(name);
  }
  return asked;
}

/** What a session allows, as far as it matters here. */
export interface Allowed {
  namespaces: Readonly<Record<string, { accounts: readonly string[]; methods: readonly string[] }>>;
}

/** The networks of one kind on which a session shows an account. */
export function networksOf(session: Allowed, space: string): string[] {
  const accounts = session.namespaces[space]?.accounts ?? [];
  return [...new Set(accounts.map((account) => account.slice(0, account.lastIndexOf(":"))))];
}

/** The addresses that a session shows on one network, in the wallet's order. */
export function addressesOn(session: Allowed, network: string): string[] {
  const space = network.split(":")[0] ?? "";
  const accounts = session.namespaces[space]?.accounts ?? [];
  const here = accounts.filter((account) => account.startsWith(`${network}:`));
  return [...new Set(here.map((account) => account.slice(network.length + 1)))];
}

export function allows(session: Allowed, space: string, method: string): boolean {
  return session.namespaces[space]?.methods.includes(method) ?? false;
}
