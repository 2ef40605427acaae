/** All wallets of this browser. A wallet that supports both chain families is listed once. */

import { discoverEthereumWallets } from "./announced";
import { discoverSolanaWallets, type SolanaSetup } from "./standard";
import type { Wallet, WalletsFound } from "./wallet";

export interface WalletSearch {
  /** The chain families that can pay. The request's family is first. */
  families: readonly string[];
  defaultName: string;
  solana: SolanaSetup;
}

/** `failed` is called if the script for Solana wallets can't be loaded. */
export function discoverWallets(search: WalletSearch, onChange: WalletsFound, failed: () => void): void {
  const byFamily = new Map<string, Wallet[]>();
  const unsettled = new Set(search.families);
  const of = (family: string): Wallet[] => byFamily.get(family) ?? [];
  const collect =
    (family: string): WalletsFound =>
    (wallets, settled) => {
      byFamily.set(family, wallets);
      if (settled) unsettled.delete(family);
      const [first = "", ...others] = search.families;
      onChange(merged(of(first), others.flatMap(of)), unsettled.size === 0);
    };
  if (unsettled.has("evm")) discoverEthereumWallets(search.defaultName, collect("evm"));
  if (unsettled.has("solana")) {
    discoverSolanaWallets(search.solana, collect("solana"), () => {
      unsettled.delete("solana");
      failed();
    });
  }
}

/** The same wallet on the other chain family. The other family may be announced only after the wallet was chosen. */
export function siblingAmong(wallets: Wallet[], { name, family }: Wallet): Wallet | null {
  const listed = wallets.find((wallet) => wallet.name === name);
  return listed?.family === family ? (listed.sibling?.() ?? null) : (listed ?? null);
}

/** Merge the lists. Wallets are matched by name, because their ids differ between the families. */
function merged(first: Wallet[], others: Wallet[]): Wallet[] {
  const twin = (wallet: Wallet, among: Wallet[]): Wallet | undefined => among.find(({ name }) => name === wallet.name);
  const paired = first.map((wallet) => {
    const other = twin(wallet, others);
    return other ? withSibling(wallet, other) : wallet;
  });
  return [...paired, ...others.filter((wallet) => !twin(wallet, first))];
}

function withSibling(wallet: Wallet, other: Wallet): Wallet {
  return { ...wallet, icon: wallet.icon ?? other.icon, sibling: () => withSibling(other, wallet) };
}
