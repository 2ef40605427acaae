/** The token that the customer chose instead of the requested one; it survives a reload. */

import type { Route } from "../server/types";
import type { Option } from "./balances";

export interface Choice {
  chainId: number;
  /** The token's contract; empty for the chain's own coin. */
  token: string;
  /** The tag that identifies the chosen route among the offered ones; empty before one was chosen. */
  tag: string;
}

/** Parse a stored choice; null if it is not valid. */
export function parseChoice(stored: unknown): Choice | null {
  const { chainId, token, tag } = (stored ?? {}) as Partial<Record<keyof Choice, unknown>>;
  const isChoice = typeof chainId === "number" && typeof token === "string" && typeof tag === "string";
  return isChoice ? { chainId, token, tag } : null;
}

/** Return null for the requested token, which is the default. */
export function choiceOf({ chainId, token, isRequested }: Option, route?: Route): Choice | null {
  return isRequested ? null : { chainId, token: token.contract_address, tag: route ? tagOf(route) : "" };
}

export function isSame({ chainId, token }: Choice, option: Option): boolean {
  return option.chainId === chainId && option.token.contract_address === token;
}

/** The last tag, since the cheapest or fastest route can also have the tag `recommended`, which comes first. */
export function tagOf({ tags }: Route): string {
  return tags[tags.length - 1] ?? "";
}
