/** The interfaces of the flow: its dependencies (`Means`), and what the payment steps use of it (`Stage`). */

import type { Chains } from "../chains";
import type { Api, ApiError } from "../server/api";
import type { SentBatch } from "../server/batches";
import type { Sender, SignedTransfer } from "../server/outbox";
import type { Checkout, Route, SentTransaction } from "../server/types";
import type { Wallet } from "../wallets/wallet";
import type { Choice } from "./choice";
import type { Notice } from "./notices";
import type { RouteCache } from "./route-cache";
import type { Chosen, Connected, Plan, Ready, Reviewed, Step } from "./states";

export interface FlowEvents {
  changed(): void;
  /** A wallet was connected; null after a disconnect. */
  connected(wallet: Wallet | null): void;
  /** The customer chose another token than the requested one; null for the requested one, or if nothing is chosen. */
  chose(choice: Choice | null): void;
  /** The deposit address is shown. */
  choseAddress(): void;
  /** Return the prompt's id. */
  promptOpened(): number;
  promptAnswered(prompt: number): void;
  sent(transaction: SentTransaction, by: Sender): void;
  /** A batch is sent to a wallet. */
  batchOpened(batch: SentBatch, by: Sender): void;
  /** The wallet has the batch, under its own id. */
  batchSent(id: string, walletId: string): void;
  /** The batch was not sent. */
  batchDropped(id: string): void;
  /** Submit a signed transfer; resolves once the server has it, or with the reason why it never will. */
  signed(transfer: SignedTransfer): Promise<ApiError | null>;
  requestChanged(): void;
}

/** Confirming a payment moves money; an approval or a signature doesn't. */
export type PromptKind = "payment" | "other";

/** The flow's dependencies. */
export interface Means {
  api: Api;
  chains: Chains;
  checkout: () => Checkout;
  now: () => number;
  /** Fetch the request's state, and return whether it still needs a payment. Throws ApiError. */
  isStillDue: () => Promise<boolean>;
  events: FlowEvents;
  /** Whether this deployment offers payments with other tokens. */
  offersSwaps: boolean;
  /** Whether batches may be offered: not after one whose outcome is in doubt. */
  mayBatch: () => boolean;
  /** Whether the customer pays the network fee although a sponsored route may be offered; it survives a reload. */
  choice: { paysFee: boolean };
  /** The URL of the script that shows the deposit address; empty if the request can't have one. */
  depositScript: string;
  /** The URL of the script for a connected wallet. */
  payScript: string;
  /** The URL of the script for sponsored payments; empty if the request can't have one. */
  sponsoredScript: string;
  /** The same wallet on the other chain family, if it has been detected. */
  siblingOf: (wallet: Wallet) => Wallet | null;
}

/** What the payment steps need of sponsored payments. */
export interface SponsoredRoutes {
  /** The offered routes without those that this wallet or this page can't pay by. */
  usable(routes: Route[], wallet: Wallet): Route[];
  /** The new route that replaces this one. */
  renewed(routes: readonly Route[], route: Route): Route | undefined;
  /** Whether the built transfer is exactly the reviewed one. */
  matches(ready: Ready): Promise<boolean>;
  /** Have the wallet sign the transfer, and submit the signature. */
  confirm(ready: Ready, plan: Plan, current: () => boolean): Promise<void>;
  /** Let the customer pay the network fee, and say why. */
  fallBack(reviewed: Reviewed, notice: Notice, current: () => boolean): Promise<void>;
}

/** The part of the flow that the payment steps use: the current step, and the transitions to others. */
export interface Stage {
  readonly step: Step;
  readonly routeCache: RouteCache;
  readonly sponsoredWay: SponsoredRoutes;
  readonly means: Means;
  /** Cancel the current operation and start a new one; the returned function tells whether it is still the current one. */
  begin(): () => boolean;
  go(step: Step): void;
  /** Go back to the list of wallets. */
  restart(notice?: Notice): void;
  /** Load routes for the chosen token, and review the one with the tag, or else the recommended one. */
  quote(chosen: Chosen, current: () => boolean, notice?: Notice, tag?: string): Promise<void>;
  review(reviewed: Reviewed, notice?: Notice): void;
  /** Count the prompt as open until the wallet responds; return its response. */
  prompted<T>(kind: PromptKind, answer: Promise<T>): Promise<T>;
  blocked(chosen: Chosen, notice: Notice, canRetry?: boolean): void;
  /** Whether the wallet still shows the reviewed account. */
  holds(connected: Connected, current: () => boolean): Promise<boolean>;
  /** The notice for a server error. */
  serverNotice(error: unknown): Notice;
}
