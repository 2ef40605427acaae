/**
 * The token that the customer chose instead of the requested one. The choice is stored, so it survives a reload of the
 * page.
 */

import type { Route } from "../server/types";
import type { Option } from "./balances";

export interface Choice {
  chainId: number;
  /** The token's contract, or an empty string for the chain's coin. */
  token: string;
  /** The tag of the chosen route, or empty if none was chosen yet. */
  tag: string;
}

/** Parse a stored choice. Return null if it is not valid. */
export function parseChoice(stored: unknown): Choice | null {
  const { chainId, token, tag } = (stored ?? {}) as Partial<Record<keyof Choice, unknown>>;
  const isChoice = typeof chainId === "number" && typeof token === "string" && typeof tag === "string";
  return isChoice ? { chainId, token, tag } : null;
}

/** Return null for the requested token, because that is the default. */
export function choiceOf({ chainId, token, isRequested }: Option, route?: Route): Choice | null {
  return isRequested ? null : { chainId, token: token.contract_address, tag: route ? tagOf(route) : "" };
}

export function isSame({ chainId, token }: Choice, option: Option): boolean {
  return option.chainId === chainId && option.token.contract_address === token;
}

/** Return the last tag. If a route is `recommended` and also cheapest or fastest, `recommended` is its first tag. */
export function tagOf({ tags }: Route): string {
  return tags[tags.length - 1] ?? "";
}
