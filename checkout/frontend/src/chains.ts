/** The networks that this service knows, from the page's data: names, coins and explorers by chain id. */

import { webUrl } from "./dom";
import type { Chain, Checkout } from "./server/types";

export class Chains {
  private readonly known: ReadonlyMap<number, Chain>;

  constructor(
    chains: readonly Chain[],
    readonly requested: Chain,
  ) {
    this.known = new Map([...chains, requested].map((chain) => [chain.id, chain]));
  }

  name(chainId: number): string {
    return this.known.get(chainId)?.name ?? String(chainId);
  }

  get(chainId: number): Chain | null {
    return this.known.get(chainId) ?? null;
  }

  /** The networks of one family, such as "solana". */
  of(family: string): Chain[] {
    return [...this.known.values()].filter((chain) => chain.chain_type === family);
  }

  /** Where a transaction can be looked at, or null. */
  transactionUrl(chainId: number, hash: string): string | null {
    const base = webUrl(this.get(chainId)?.explorer_url ?? null);
    return base && `${base.replace(/\/+$/, "")}/tx/${encodeURIComponent(hash)}`;
  }
}

/** The networks in the page's data; the request's own alone where there are none. */
export function readChains(data: HTMLElement | null, checkout: Checkout): Chains {
  return new Chains(data ? (JSON.parse(data.textContent ?? "[]") as Chain[]) : [], checkout.chain);
}
