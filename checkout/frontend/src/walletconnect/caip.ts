/** The names of networks (CAIP-2) and accounts (CAIP-10), and the permissions that a session requests. */

import type { Chain } from "../server/types";

/**
 * The methods and events that the page requests. Wallets show each requested method to the customer, so the list is
 * short.
 */
const ASKED: Readonly<Record<string, { methods: string[]; events: string[] }>> = {
  eip155: {
    methods: ["eth_sendTransaction", "personal_sign", "eth_signTypedData_v4", "wallet_switchEthereumChain", "wallet_addEthereumChain"],
    events: ["accountsChanged", "chainChanged"],
  },
  solana: {
    methods: ["solana_signAndSendTransaction", "solana_signTransaction", "solana_signMessage"],
    events: ["accountsChanged"],
  },
};

/** The CAIP-2 namespace of each chain family. */
export const SPACES: Readonly<Record<string, string>> = { evm: "eip155", solana: "solana" };

/**
 * The CAIP-2 reference of a Solana cluster: the first 32 characters of its genesis hash. For a local cluster, the hash
 * isn't known.
 */
const SOLANA: Readonly<Record<string, string>> = {
  "": "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  mainnet: "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
  devnet: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
  testnet: "4uhcVJyU9pJkvQyUS88uRDiswHXSCkY3",
  local: "localnet",
};

/** The network's CAIP-2 name, such as "eip155:8453". Null if it has none. */
export function caipOf(chain: Chain): string | null {
  const reference = chain.chain_type === "solana" ? SOLANA[chain.network] : String(chain.id);
  const space = SPACES[chain.chain_type];
  return space && reference ? `${space}:${reference}` : null;
}

export type Namespaces = Record<string, { chains: string[]; methods: string[]; events: string[] }>;

/** The permissions to request for payments on these networks. */
export function namespaces(chains: readonly Chain[]): Namespaces {
  const requested: Namespaces = {};
  for (const chain of chains) {
    const name = caipOf(chain);
    const space = SPACES[chain.chain_type] ?? "";
    const all = ASKED[space];
    if (!name || !all) continue;
    requested[space] ??= { chains: [], ...all };
    requested[space].chains.push(name);
  }
  return requested;
}

/** The part of a session that this module reads. */
export interface Allowed {
  namespaces: Readonly<Record<string, { accounts: readonly string[]; methods: readonly string[] }>>;
}

/** The networks of one namespace on which the session has an account. */
export function networksOf(session: Allowed, space: string): string[] {
  const accounts = session.namespaces[space]?.accounts ?? [];
  return [...new Set(accounts.map((account) => account.slice(0, account.lastIndexOf(":"))))];
}

/** The session's addresses on one network, in the wallet's order. */
export function addressesOn(session: Allowed, network: string): string[] {
  const space = network.split(":")[0] ?? "";
  const accounts = session.namespaces[space]?.accounts ?? [];
  const here = accounts.filter((account) => account.startsWith(`${network}:`));
  return [...new Set(here.map((account) => account.slice(network.length + 1)))];
}

export function allows(session: Allowed, space: string, method: string): boolean {
  return session.namespaces[space]?.methods.includes(method) ?? false;
}
