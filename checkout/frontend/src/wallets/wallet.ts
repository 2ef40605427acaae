/** The interface of wallets of all chain families. */

import type { Authorization, Chain, Token, TypedData, UnsignedTransaction } from "../server/types";
import type { Batches } from "./batch";

/** The id of a wallet that doesn't announce itself, and is only in `window.ethereum`. */
export const INJECTED = "injected";

const LONGEST_NAME = 40;
/** The maximum length of a data URI. An icon of 96 px needs about a tenth. */
const LARGEST_ICON = 100_000;
const PICTURE = /^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/i;

export interface WalletFace {
  id: string;
  name: string;
  icon: string | null;
  /** A hint on how to use the wallet, shown below the name. */
  hint?: string;
}

/** The reviewed facts. The transaction must match them. Amounts are in base units. */
export type Shown = { account: string; chainId: number } & (
  | { kind: "transfer"; token: Token; recipient: string; rawAmount: string; isSponsored?: boolean }
  | { kind: "allowance"; token: Token; spender: string; rawAmount: string }
  | { kind: "call"; contract: string; mostCoins: string }
);

/** The facts about a transaction that were decoded from its bytes. Amounts are in base units. */
export interface Signed {
  chainId: number;
  /** The recipient or the approved spender. Null for any other contract call. */
  party: string | null;
  /** The token or other contract that the transaction calls. Null for a transfer of the native coin. */
  contract: string | null;
  rawAmount: string;
  /** When the signature expires if it isn't used. */
  validUntil?: string;
}

/** The call that an EVM transaction makes. */
export interface Call {
  to: string;
  value: string;
  input: string;
}

/** A sent transaction, with the data that identifies a replacement. Fields are null if they aren't known yet. */
export interface TrackedTransaction {
  hash: string;
  sender: string;
  nonce: number | null;
  call: Call | null;
  /** A block before the transaction was mined, as late as possible. */
  fromBlock: number | null;
}

export type TransactionStatus =
  | { is: "known"; nonce: number; call: Call; fromBlock: number }
  | { is: "replaced"; hash: string; isSameCall: boolean }
  | { is: "unknown" };

/** A wallet, whose methods throw WalletError. */
export interface Wallet extends WalletFace {
  /** The wallet's chain family: `evm` or `solana`. */
  family: string;
  /** The same wallet on the other chain family, if the wallet supports both. */
  sibling?: (() => Wallet) | undefined;
  /** Request an account from the customer. Return its address. */
  connect(): Promise<string>;
  /** The accounts that the wallet already shares with this page. The selected one is the first. Opens no prompt. */
  accounts(): Promise<readonly string[]>;
  /** The id of the wallet's current chain. */
  chain(): Promise<number>;
  /**
   * Request a switch to a chain. If the wallet doesn't know the chain, request to add it. Return the id of the wallet's
   * chain after that.
   */
  switchTo(chainId: number, chain: Chain | null): Promise<number>;
  /** Whether a built transaction matches the shown facts, as far as its bytes can be decoded. */
  matches(transaction: UnsignedTransaction, shown: Shown): boolean | Promise<boolean>;
  /** Decode a matching transaction. Return null if its effect can only be simulated, by the wallet. */
  read(transaction: UnsignedTransaction, shown: Shown): Signed | null;
  /** Request a signature of a text. Return it in the format for the server. */
  sign(account: string, message: string): Promise<string>;
  /** Request a signature of a transfer that another account sends. Missing if the wallet doesn't support that. */
  authorize?: ((account: string, transfer: TypedData | UnsignedTransaction) => Promise<Authorization>) | undefined;
  /** Request to sign and send a transaction. Return its hash. */
  send(account: string, transaction: UnsignedTransaction): Promise<string>;
  /** Whether a transaction on the wallet's chain succeeded. Null until it is mined. */
  outcome?(hash: string): Promise<boolean | null>;
  /** Atomic batches. Missing if the wallet's chain family has no batches. */
  batches?: Batches;
  /** The status of a sent transaction. Missing on chains where transactions can't be replaced. */
  transactionStatus?(sent: TrackedTransaction): Promise<TransactionStatus>;
  /** Report changes in the wallet, until the returned function is called. */
  watch(changes: WalletChanges): () => void;
  /** The wallet's own connection screen. Null for the default one. */
  screen?(back: () => void): WalletScreen | null;
  /** The state of that screen, to detect changes. */
  readonly pairing?: object | null;
  /** The wallet's app on this phone, with the link to the open request in it. Null if unknown. */
  readonly app?: { name: string; url: string } | null;
  /** Disconnect. The page calls it when the customer has left the wallet, or when the payment was sent. */
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
  /** The selected account has changed. Null if the wallet no longer shares an account. */
  account(account: string | null): void;
  chain(chainId: number): void;
  /** The wallet lost its connection to the network. */
  offline(): void;
}

/**
 * Called with the wallets detected so far. `settled` is true when wallets have had enough time to announce themselves.
 * Wallets that are detected later are also used.
 */
export type WalletsFound = (wallets: Wallet[], settled: boolean) => void;

/** Validate a wallet's id, name and icon. Return null if the id or the name can't be used. */
export function walletFace(id: unknown, name: unknown, icon: unknown): WalletFace | null {
  if (typeof id !== "string" || typeof name !== "string") return null;
  // Remove line breaks and characters that change the text direction.
  const short = [...name.replace(/\p{C}/gu, "").trim()].slice(0, LONGEST_NAME).join("");
  // Only data URIs are accepted. Any other URL would cause a request to a third party.
  const isPicture = typeof icon === "string" && icon.length <= LARGEST_ICON && PICTURE.test(icon);
  return short ? { id, name: short, icon: isPicture ? icon : null } : null;
}
