/** A wallet of either family, as the flow knows it. */

import type { Token, UnsignedTransaction } from "./types";

const LONGEST_NAME = 40;

export interface WalletFace {
  id: string;
  name: string;
  icon: string | null;
}

/** What the customer was shown, and so what a transaction has to do. Amounts are base units. */
export type Shown = { account: string; chainId: number } & (
  | { kind: "transfer"; token: Token; recipient: string; rawAmount: string }
  | { kind: "allowance"; token: Token; spender: string; rawAmount: string }
  | { kind: "call"; contract: string; mostCoins: string }
);

/** A wallet of either family. What goes wrong in it is thrown as a WalletError. */
export interface Wallet extends WalletFace {
  /** The family of chains that it pays on: `evm` or `solana`. */
  family: string;
  /** The same wallet on the other family of chains, where it speaks both. */
  sibling?: () => Wallet;
  /** Asks to share an account; its address. */
  connect(): Promise<string>;
  /** The id of the chain that it is on. */
  chain(): Promise<number>;
  /** Asks to change to a chain; the id of the one that it is on afterwards. */
  switchTo(chainId: number): Promise<number>;
  /** Whether a built transaction does exactly what was shown, and nothing else that could be told from it. */
  matches(transaction: UnsignedTransaction, shown: Shown): boolean | Promise<boolean>;
  /** Asks to sign a text; the signature as the server takes it. */
  sign(account: string, message: string): Promise<string>;
  /** Asks to sign and send; the transaction's hash. */
  send(account: string, transaction: UnsignedTransaction): Promise<string>;
  /** Whether a transaction on the wallet's chain has been mined and worked; null while it is in no block. */
  outcome?(hash: string): Promise<boolean | null>;
  /** Calls back on changes made in the wallet (a null account: disconnected) until the returned function is called. */
  watch(accountChanged: (account: string | null) => void, chainChanged: (chainId: number) => void): () => void;
}

/** The wallets found so far; `settled` is true once they have had their time to answer. More may come later. */
export type WalletsFound = (wallets: Wallet[], settled: boolean) => void;

/** How a wallet presents itself, or null when it gives no usable id or name. */
export function walletFace(id: unknown, name: unknown, icon: unknown): WalletFace | null {
  if (typeof id !== "string" || typeof name !== "string") return null;
  const short = name.trim().slice(0, LONGEST_NAME);
  // Any other scheme would be a request to a third party.
  const isInline = typeof icon === "string" && icon.startsWith("data:image/");
  return short ? { id, name: short, icon: isInline ? icon : null } : null;
}
