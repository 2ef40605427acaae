/** The interface of a wallet, the same for all chain families. */

import type { Authorization, Chain, Token, TypedData, UnsignedTransaction } from "../server/types";
import type { Batches } from "./batch";

/** The id of a wallet that is only in `window.ethereum` and doesn't announce itself. */
export const INJECTED = "injected";

const LONGEST_NAME = 40;
/** In characters of a data URI; a 96 px icon takes about a tenth of it. */
const LARGEST_ICON = 100_000;
const PICTURE = /^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/i;

export interface WalletFace {
  id: string;
  name: string;
  icon: string | null;
  /** A hint on how to use it, shown below its name. */
  hint?: string;
}

/** What the customer reviewed, which the transaction must match. Amounts are base units. */
export type Shown = { account: string; chainId: number } & (
  | { kind: "transfer"; token: Token; recipient: string; rawAmount: string; isSponsored?: boolean }
  | { kind: "allowance"; token: Token; spender: string; rawAmount: string }
  | { kind: "call"; contract: string; mostCoins: string }
);

/** What a transaction does, decoded from its bytes. Amounts are base units. */
export interface Signed {
  chainId: number;
  /** The recipient or the approved spender; null for any other contract call. */
  party: string | null;
  /** The token or other contract that it calls; null for a transfer of the native coin. */
  contract: string | null;
  rawAmount: string;
  /** When a signature that was not used ends. */
  validUntil?: string;
}

/** The call that an EVM transaction makes. */
export interface Call {
  to: string;
  value: string;
  input: string;
}

/** A sent transaction with the data that identifies a replacement; null if not yet known. */
export interface TrackedTransaction {
  hash: string;
  sender: string;
  nonce: number | null;
  call: Call | null;
  /** The latest block before it was mined. */
  fromBlock: number | null;
}

export type TransactionStatus =
  | { is: "known"; nonce: number; call: Call; fromBlock: number }
  | { is: "replaced"; hash: string; isSameCall: boolean }
  | { is: "unknown" };

/** A wallet. Its methods throw WalletError. */
export interface Wallet extends WalletFace {
  /** The chain family that it pays on: `evm` or `solana`. */
  family: string;
  /** The same wallet on the other chain family, if it supports both. */
  sibling?: (() => Wallet) | undefined;
  /** Ask the customer to share an account; return its address. */
  connect(): Promise<string>;
  /** The accounts that it already shares with this page, the selected one first. Opens no prompt. */
  accounts(): Promise<readonly string[]>;
  /** The id of its current chain. */
  chain(): Promise<number>;
  /** Ask to switch to a chain, and to add it if the wallet doesn't know it; return the id of its chain afterwards. */
  switchTo(chainId: number, chain: Chain | null): Promise<number>;
  /** Whether a built transaction does exactly what was shown, as far as its bytes can be decoded. */
  matches(transaction: UnsignedTransaction, shown: Shown): boolean | Promise<boolean>;
  /** Decode a transaction that matches; null if only the wallet's simulation can show what it does. */
  read(transaction: UnsignedTransaction, shown: Shown): Signed | null;
  /** Ask to sign a text; return the signature in the format that the server accepts. */
  sign(account: string, message: string): Promise<string>;
  /** Ask to sign a transfer that another account sends. Missing if the wallet can't. */
  authorize?: ((account: string, transfer: TypedData | UnsignedTransaction) => Promise<Authorization>) | undefined;
  /** Ask to sign and send a transaction; return its hash. */
  send(account: string, transaction: UnsignedTransaction): Promise<string>;
  /** Whether a transaction on the wallet's chain succeeded; null until it is mined. */
  outcome?(hash: string): Promise<boolean | null>;
  /** Its atomic batches; missing on chains without them. */
  batches?: Batches;
  /** The status of a transaction that it sent. Missing on chains without replacements. */
  transactionStatus?(sent: TrackedTransaction): Promise<TransactionStatus>;
  /** Report changes in the wallet until the returned function is called. */
  watch(changes: WalletChanges): () => void;
  /** The wallet's own connection screen; null for the default one. */
  screen?(back: () => void): WalletScreen | null;
  /** The state of that screen, to detect changes. */
  readonly pairing?: object | null;
  /** Its app on this phone and the link that opens it at the open request; null if unknown. */
  readonly app?: { name: string; url: string } | null;
  /** Disconnect: the customer left the wallet, or the payment was sent. */
  leave?(): void;
}

/** A screen for the page's panel. */
export interface WalletScreen {
  name: string;
  heading: string;
  nodes: Node[];
  spoken?: string;
}

export interface WalletChanges {
  /** The selected account changed; null if the wallet no longer shares any. */
  account(account: string | null): void;
  chain(chainId: number): void;
  /** The wallet lost its connection to the network. */
  offline(): void;
}

/** Called with the wallets detected so far; `settled` is true after the time to announce. Later ones still count. */
export type WalletsFound = (wallets: Wallet[], settled: boolean) => void;

/** Validate a wallet's id, name and icon; null without a usable id or name. */
export function walletFace(id: unknown, name: unknown, icon: unknown): WalletFace | null {
  if (typeof id !== "string" || typeof name !== "string") return null;
  // Remove line breaks and characters that change the text direction.
  const short = [...name.replace(/\p{C}/gu, "").trim()].slice(0, LONGEST_NAME).join("");
  // Only data URIs: any other URL would be a request to a third party.
  const isPicture = typeof icon === "string" && icon.length <= LARGEST_ICON && PICTURE.test(icon);
  return short ? { id, name: short, icon: isPicture ? icon : null } : null;
}
