/** Interfaces of the flow: its dependencies (`Means`), and the part that the payment steps use (`Stage`). */

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
  /** A wallet was connected. Null: the wallet was disconnected. */
  connected(wallet: Wallet | null): void;
  /**
   * The customer chose another token than the requested one. Null: the customer chose the requested token, or hasn't
   * chosen yet.
   */
  chose(choice: Choice | null): void;
  /** The deposit address is shown. */
  choseAddress(): void;
  /** Return the prompt's id. */
  promptOpened(): number;
  promptAnswered(prompt: number): void;
  sent(transaction: SentTransaction, by: Sender): void;
  /** A batch is about to be sent to a wallet. */
  batchOpened(batch: SentBatch, by: Sender): void;
  /** The wallet has the batch, and has given it the id `walletId`. */
  batchSent(id: string, walletId: string): void;
  /** The batch was not sent. */
  batchDropped(id: string): void;
  /**
   * Submit a signed transfer. Resolves to null when the server has accepted it. If the server rejects it permanently,
   * resolves to the error.
   */
  signed(transfer: SignedTransfer): Promise<ApiError | null>;
  requestChanged(): void;
}

/**
 * If the customer confirms a "payment", money moves. If the customer confirms an approval or a signature ("other"), no
 * money moves.
 */
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
  /** Whether batches may be used. After a batch with an unknown outcome, they may not. */
  mayBatch: () => boolean;
  /**
   * `paysFee`: the customer pays the network fee, even if a sponsored route is offered. The choice is stored, so it
   * survives a reload.
   */
  choice: { paysFee: boolean };
  /** The URL of the script that shows the deposit address, or empty if the request can't have a deposit address. */
  depositScript: string;
  /** The URL of the script for a connected wallet. */
  payScript: string;
  /** The URL of the script for sponsored payments, or empty if the request can't have sponsored payments. */
  sponsoredScript: string;
  /** The same wallet on the other chain family, or null if it wasn't detected. */
  siblingOf: (wallet: Wallet) => Wallet | null;
}

/** The functions for sponsored payments that the payment steps use. */
export interface SponsoredRoutes {
  /** The offered routes by which this wallet and this page can pay. */
  usable(routes: Route[], wallet: Wallet): Route[];
  /** The new route that replaces this one. */
  renewed(routes: readonly Route[], route: Route): Route | undefined;
  /** Whether the built transfer is exactly the reviewed one. */
  matches(ready: Ready): Promise<boolean>;
  /** Have the wallet sign the transfer, and submit the signature. */
  confirm(ready: Ready, plan: Plan, current: () => boolean): Promise<void>;
  /** Let the customer pay the network fee, with a notice that explains why. */
  fallBack(reviewed: Reviewed, notice: Notice, current: () => boolean): Promise<void>;
}

/** The part of the flow that the payment steps use: the current step, and the transitions to others. */
export interface Stage {
  readonly step: Step;
  readonly routeCache: RouteCache;
  readonly sponsoredWay: SponsoredRoutes;
  readonly means: Means;
  /**
   * Cancel the current operation and start a new one. The returned function tells whether the new one is still current.
   */
  begin(): () => boolean;
  go(step: Step): void;
  /** Go back to the list of wallets. */
  restart(notice?: Notice): void;
  /**
   * Load routes for the chosen token. Review the route with the tag `tag`. If no route has this tag, review the
   * recommended route.
   */
  quote(chosen: Chosen, current: () => boolean, notice?: Notice, tag?: string): Promise<void>;
  review(reviewed: Reviewed, notice?: Notice): void;
  /** Count the prompt as open until the wallet responds. Return the response. */
  prompted<T>(kind: PromptKind, answer: Promise<T>): Promise<T>;
  blocked(chosen: Chosen, notice: Notice, canRetry?: boolean): void;
  /** Whether the wallet still uses the reviewed account. */
  holds(connected: Connected, current: () => boolean): Promise<boolean>;
  /** The notice for a server error. */
  serverNotice(error: unknown): Notice;
}
