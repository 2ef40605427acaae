/** The token that the customer chose instead of the requested one, kept across a reload. */

import type { Route } from "../server/types";
import type { Option } from "./holdings";

export interface Choice {
  chainId: number;
  /** The token's contract; empty for the chain's own coin. */
  token: string;
  /** What distinguishes the chosen route from the others; empty before one was chosen. */
  tag: string;
}

/** The choice that was kept over a reload, or null where it makes no sense. */
export function keptChoice(kept: unknown): Choice | null {
  const { chainId, token, tag } = (kept ?? {}) as Partial<Record<keyof Choice, unknown>>;
  const isChoice = typeof chainId === "number" && typeof token === "string" && typeof tag === "string";
  return isChoice ? { chainId, token, tag } : null;
}

/** Null for the requested token: that is where a page begins by itself. */
export function choiceOf({ chainId, token, isRequested }: Option, route?: Route): Choice | null {
  return isRequested ? null : { chainId, token: token.contract_address, tag: route ? tagOf(route) : "" };
}

export function isSame({ chainId, token }: Choice, option: Option): boolean {
  return option.chainId === chainId && option.token.contract_address === token;
}

/** The cheapest may be the recommended one too: the last tag says more. */
export function tagOf({ tags }: Route): string {
  return tags[tags.length - 1] ?? "";
}
