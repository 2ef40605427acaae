/** The states from choosing a wallet to a sent transaction, and where each may lead. */

import type { Route } from "../server/types";
import type { Signed, Wallet } from "../wallets/wallet";
import type { Option } from "./holdings";
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
  /** All that were offered with it, while there is a choice. */
  routes?: readonly Route[];
}

/** What the wallet is asked for, one after the other. */
export type Ask = "reset" | "allow" | "prove" | "pay";

/** All that the wallet will be asked for, and at which of it the customer is. */
export interface Plan {
  asks: readonly Ask[];
  at: number;
}

export type Step =
  | { at: "choose"; notice?: Notice }
  | { at: "connecting"; wallet: Wallet }
  | ({ at: "looking" } & Connected)
  | ({ at: "tokens"; notice?: Notice } & Connected)
  | ({ at: "quoting" } & Chosen)
  | ({ at: "blocked"; notice: Notice; canRetry: boolean } & Chosen)
  | ({ at: "routes"; routes: readonly Route[] } & Chosen)
  | ({ at: "review"; notice?: Notice } & Reviewed)
  | ({ at: "switching" } & Reviewed)
  | ({ at: "building" } & Reviewed)
  | ({ at: "approving"; plan: Plan; isMining: boolean; signed: Signed | null } & Reviewed)
  | ({ at: "proving"; plan: Plan; isSigned: boolean } & Reviewed)
  | ({ at: "confirming"; plan: Plan; signed: Signed | null } & Reviewed);

export type At = Step["at"];

/** "choose" is always open: the customer may go back at any time. */
export const NEXT: Readonly<Record<At, readonly At[]>> = {
  choose: ["connecting", "looking"],
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
  confirming: ["review"],
};
