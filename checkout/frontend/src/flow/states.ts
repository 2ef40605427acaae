/** The states from the choice of a wallet to a sent transaction, and the transitions between them. */

import type { DepositPart } from "../deposit/part";
import type { BuiltTransaction, Route } from "../server/types";
import type { Signed, Wallet } from "../wallets/wallet";
import type { Option } from "./balances";
import type { Notice } from "./notices";

export interface Connected {
  wallet: Wallet;
  account: string;
}

export interface Chosen extends Connected {
  option: Option;
}

export interface Reviewed extends Chosen {
  route: Route;
  /** All offered routes, if there are several. */
  routes?: readonly Route[];
  /**
   * Set if the wallet rejected a transaction because it contains the payment reference. The payment is then a plain
   * transfer. With a signature, the wallet proves who sends it.
   */
  binding?: "payer";
}

/** The reviewed payment with the transaction that the server built for it. */
export type Ready = Reviewed & { built: BuiltTransaction };

/** A prompt that the wallet shows. */
export type Ask = "reset" | "allow" | "prove" | "pay";

/** All prompts of this payment, and the index of the current one. */
export interface Plan {
  asks: readonly Ask[];
  at: number;
}

export type Step =
  | { at: "choose"; notice?: Notice }
  | { at: "preparing" }
  | { at: "deposit"; address: string; part: DepositPart }
  | { at: "connecting"; wallet: Wallet }
  | ({ at: "looking" } & Connected)
  | ({ at: "tokens"; notice?: Notice } & Connected)
  | ({ at: "quoting" } & Chosen)
  | ({ at: "blocked"; notice: Notice; canRetry: boolean } & Chosen)
  | ({ at: "routes"; routes: readonly Route[] } & Chosen)
  | ({ at: "review"; notice?: Notice } & Reviewed)
  | ({ at: "switching" } & Reviewed)
  | ({ at: "building" } & Reviewed)
  | ({ at: "approving"; plan: Plan; isMining: boolean; signed: Signed | null; notice?: Notice } & Reviewed)
  | ({ at: "proving"; plan: Plan; isSigned: boolean } & Reviewed)
  /** `batch`: the calls of the batch, in order. `batch` is missing if the prompt is for one transaction. */
  | ({ at: "confirming"; plan: Plan; signed: Signed | null; batch?: readonly Signed[] } & Reviewed);

export type At = Step["at"];

/** Every state can also change to "choose", because the customer can go back at any time. */
export const NEXT: Readonly<Record<At, readonly At[]>> = {
  choose: ["connecting", "looking", "preparing"],
  preparing: ["deposit"],
  deposit: [],
  connecting: ["looking"],
  looking: ["looking", "tokens", "quoting"],
  tokens: ["tokens", "looking", "quoting", "connecting"],
  quoting: ["quoting", "looking", "tokens", "routes", "review", "blocked"],
  blocked: ["looking", "tokens", "quoting"],
  routes: ["looking", "tokens", "quoting", "review"],
  review: ["review", "looking", "tokens", "quoting", "routes", "building"],
  switching: ["review", "looking", "building"],
  building: ["switching", "review", "looking", "quoting", "blocked", "approving", "proving", "confirming"],
  approving: ["approving", "building", "review", "looking", "quoting", "blocked"],
  proving: ["proving", "review", "looking", "quoting", "blocked", "confirming"],
  confirming: ["review", "quoting"],
};
