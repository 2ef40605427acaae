/** The networks of this deployment: names, coins and explorers by chain id. The page contains this data. */

import { webUrl } from "./dom";
import type { Chain, Checkout } from "./server/types";

export class Chains {
  private readonly byId: ReadonlyMap<number, Chain>;

  constructor(
    chains: readonly Chain[],
    readonly requested: Chain,
  ) {
    const all = chains.some(({ id }) => id === requested.id) ? chains : [...chains, requested];
    this.byId = new Map(all.map((chain) => [chain.id, chain]));
  }

  name(chainId: number): string {
    return this.byId.get(chainId)?.name ?? String(chainId);
  }

  get(chainId: number): Chain | null {
    return this.byId.get(chainId) ?? null;
  }

  /** The networks of one family, such as "solana". */
  of(family: string): Chain[] {
    return [...this.byId.values()].filter((chain) => chain.chain_type === family);
  }

  /** The URL of the transaction in a block explorer, or null. */
  transactionUrl(chainId: number, hash: string): string | null {
    const base = webUrl(this.get(chainId)?.explorer_url ?? null);
    return base && `${base.replace(/\/+$/, "")}/tx/${encodeURIComponent(hash)}`;
  }
}

/** Read the networks from the page's data. If the page has no such data, return only the request's own network. */
export function readChains(data: HTMLElement | null, checkout: Checkout): Chains {
  return new Chains(data ? (JSON.parse(data.textContent ?? "[]") as Chain[]) : [], checkout.chain);
}
