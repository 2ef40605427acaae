/** What the flow works with, and what paying sees of the flow. */

import type { Chains } from "../chains";
import type { Api } from "../server/api";
import type { Sender } from "../server/outbox";
import type { Checkout, SentTransaction } from "../server/types";
import type { Wallet } from "../wallets/wallet";
import type { Choice } from "./choice";
import type { Notice } from "./notices";
import type { RouteBook } from "./route-book";
import type { Chosen, Connected, Reviewed, Step } from "./states";

export interface FlowEvents {
  changed(): void;
  /** A wallet was connected; null: it was left. */
  connected(wallet: Wallet | null): void;
  /** What to pay with was chosen; null: what was asked for, or nothing yet. */
  chose(choice: Choice | null): void;
  promptOpened(): void;
  promptAnswered(): void;
  sent(transaction: SentTransaction, by: Sender): void;
  requestChanged(): void;
}

/** What the flow works with. */
export interface Means {
  api: Api;
  chains: Chains;
  checkout: () => Checkout;
  now: () => number;
  events: FlowEvents;
  /** Whether this service offers to pay with other tokens at all. */
  offersSwaps: boolean;
  /** The same wallet on the other family of networks, as far as it has been found by now. */
  siblingOf: (wallet: Wallet) => Wallet | null;
}

/** The flow as seen from the payment: where the customer is, and where it may be led. */
export interface Stage {
  readonly step: Step;
  readonly book: RouteBook;
  readonly means: Means;
  /** Ends what was under way; whether the answer that is awaited now is still wanted when it comes. */
  begin(): () => boolean;
  go(step: Step): void;
  /** Back to the list of wallets. */
  restart(notice?: Notice): void;
  /** Routes for what was chosen, of which one is to be reviewed: that with the tag, where there is one. */
  quote(chosen: Chosen, current: () => boolean, notice?: Notice, tag?: string): Promise<void>;
  review(reviewed: Reviewed, notice?: Notice): void;
  blocked(chosen: Chosen, notice: Notice, canRetry?: boolean): void;
  /** Whether the wallet still shows the account that was reviewed. */
  holds(connected: Connected, current: () => boolean): Promise<boolean>;
  /** What the server's refusal means for people. */
  serverNotice(error: unknown): Notice;
}
