/** A wallet of either family, as the flow knows it. */

import type { Chain, Token, UnsignedTransaction } from "../server/types";

/** The id of the one wallet that doesn't announce itself. */
export const INJECTED = "injected";

const LONGEST_NAME = 40;
/** In characters of a data URI: a good picture of 96 px takes a tenth of it. */
const LARGEST_ICON = 100_000;
const PICTURE = /^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/i;

export interface WalletFace {
  id: string;
  name: string;
  icon: string | null;
  /** How to use it, where its name does not tell. */
  hint?: string;
}

/** What the customer was shown, and so what a transaction has to do. Amounts are base units. */
export type Shown = { account: string; chainId: number } & (
  | { kind: "transfer"; token: Token; recipient: string; rawAmount: string }
  | { kind: "allowance"; token: Token; spender: string; rawAmount: string }
  | { kind: "call"; contract: string; mostCoins: string }
);

/** What a transaction says, read back from its own bytes. Amounts are base units. */
export interface Signed {
  chainId: number;
  /** The recipient or the approved spender; null where it calls a contract to pay. */
  party: string | null;
  /** The token, or whatever else it calls; null where it only moves the network's own coin. */
  contract: string | null;
  rawAmount: string;
}

/** What a transaction on an Ethereum network asks for. */
export interface Call {
  to: string;
  value: string;
  input: string;
}

/** A transaction that was sent, with what a replacement is recognised by as far as it is known. */
export interface Followed {
  hash: string;
  sender: string;
  nonce: number | null;
  call: Call | null;
  /** The newest block while it was in none. */
  fromBlock: number | null;
}

export type Fate =
  | { is: "there"; nonce: number; call: Call; fromBlock: number }
  | { is: "replaced"; hash: string; isSameCall: boolean }
  | { is: "unknown" };

/** A wallet of either family. What goes wrong in it is thrown as a WalletError. */
export interface Wallet extends WalletFace {
  /** The family of chains that it pays on: `evm` or `solana`. */
  family: string;
  /** The same wallet on the other family of chains, where it speaks both. */
  sibling?: (() => Wallet) | undefined;
  /** Asks to share an account; its address. */
  connect(): Promise<string>;
  /** The accounts that it already shows this page, without a prompt; the chosen one first. */
  accounts(): Promise<readonly string[]>;
  /** The id of the chain that it is on. */
  chain(): Promise<number>;
  /** Asks to change to a chain, and to add one that it doesn't know; the id of the one that it is on afterwards. */
  switchTo(chainId: number, known: Chain | null): Promise<number>;
  /** Whether a built transaction does exactly what was shown, and nothing else that can be read from it. */
  matches(transaction: UnsignedTransaction, shown: Shown): boolean | Promise<boolean>;
  /** What a transaction that matches says; null where only the wallet's own trial run can tell. */
  read(transaction: UnsignedTransaction, shown: Shown): Signed | null;
  /** Asks to sign a text; the signature as the server takes it. */
  sign(account: string, message: string): Promise<string>;
  /** Asks to sign and send; the transaction's hash. */
  send(account: string, transaction: UnsignedTransaction): Promise<string>;
  /** Whether a transaction on the wallet's chain has been mined and worked; null while it is in no block. */
  outcome?(hash: string): Promise<boolean | null>;
  /** Whether a transaction that it sent was replaced, where that is possible. */
  follow?(sent: Followed): Promise<Fate>;
  /** Calls back on changes made in the wallet until the returned function is called. */
  watch(changes: WalletChanges): () => void;
  /** What the page shows while the wallet connects, where it has no window of its own; null: what it shows for others. */
  screen?(back: () => void): WalletScreen | null;
  /** Changes with that screen. */
  readonly pairing?: object | null;
  /** The customer has turned away from it, or it has sent the payment. */
  leave?(): void;
}

/** As the page's panel takes it. */
export interface WalletScreen {
  name: string;
  heading: string;
  nodes: Node[];
  spoken?: string;
}

export interface WalletChanges {
  /** Null: the page may not see any account any more. */
  account(account: string | null): void;
  chain(chainId: number): void;
  /** The wallet has lost its own connection to the network. */
  offline(): void;
}

/** The wallets found so far; `settled` is true once they have had their time to answer. More may come later. */
export type WalletsFound = (wallets: Wallet[], settled: boolean) => void;

/** How a wallet presents itself, or null when it gives no usable id or name. */
export function walletFace(id: unknown, name: unknown, icon: unknown): WalletFace | null {
  if (typeof id !== "string" || typeof name !== "string") return null;
  // Neither line breaks nor marks that turn the direction of what follows.
  const short = [...name.replace(/\p{C}/gu, "").trim()].slice(0, LONGEST_NAME).join("");
  // Any other scheme would be a request to a third party.
  const isPicture = typeof icon === "string" && icon.length <= LARGEST_ICON && PICTURE.test(icon);
  return short ? { id, name: short, icon: isPicture ? icon : null } : null;
}
