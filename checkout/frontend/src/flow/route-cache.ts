/** A cache of the offered routes. Routes are requested once per token, and kept until they expire. */

import { copy } from "../copy";
import { messageFor } from "../language";
import { amountOf, sum } from "../money";
import type { Api } from "../server/api";
import type { Amount, Checkout, Route } from "../server/types";
import type { Option } from "./balances";

const MARGIN_MS = 5_000;
/** A bridge's fee on top of the amount changes with every block. The review says that the fee may grow by this much. */
const MAX_GROWTH_PERCENT = 10n;

/** Routes with the recommended one first, or a message that explains why there are none. */
export type RoutesOrReason = Route[] | string;

export class RouteCache {
  private readonly requests = new Map<string, Promise<RoutesOrReason>>();
  /** Maps a route's id to the remaining amount for which the route was requested. */
  private readonly amounts = new Map<string, string>();

  constructor(
    private readonly api: Api,
    private readonly checkout: () => Checkout,
    private readonly now: () => number,
  ) {}

  async find(account: string, option: Option): Promise<RoutesOrReason> {
    const key = [account, option.chainId, option.token.contract_address, this.checkout().amount_remaining.raw].join();
    const cached = await this.requests.get(key);
    if (cached && typeof cached !== "string" && cached.every((route) => this.isFresh(route))) return cached;
    const request = this.load(account, option);
    this.requests.set(key, request);
    // A failed request is not cached, so the next call retries.
    request.catch(() => this.requests.delete(key));
    return request;
  }

  /** Clear the cache. The next call loads new routes. */
  clear(): void {
    this.requests.clear();
  }

  isFresh(route: Route): boolean {
    return Date.parse(route.expires_at) - MARGIN_MS > this.now();
  }

  /** Whether the route pays exactly the amount that remains now. */
  paysTheRest({ id }: Route): boolean {
    return this.amounts.get(id) === this.checkout().amount_remaining.raw;
  }

  private async load(account: string, option: Option): Promise<RoutesOrReason> {
    const { raw } = this.checkout().amount_remaining;
    const { routes, reason } = await this.api.routes(account, option.chainId, option.token);
    for (const { id } of routes) this.amounts.set(id, raw);
    return routes.length > 0 ? routes : messageFor("refusal", reason?.code ?? "", reason?.message ?? "") || copy.notices.noRoute;
  }
}

/** The names of the bridges and exchanges that the route uses. */
export function toolsOf(route: Route): string[] {
  return [...new Set(route.steps.flatMap(({ tool }) => (tool ? [tool] : [])))];
}

/**
 * The provider's contract that the wallet's transaction calls. Null if the transaction calls the token or pays the
 * merchant directly.
 */
export function contractOf(route: Route): string | null {
  return route.steps.find((step) => step.contract_address)?.contract_address ?? null;
}

/** The contract that needs an approval, or null if none does. */
export function spenderOf(route: Route): string | null {
  return route.steps.find((step) => step.spender)?.spender ?? null;
}

/** The amount of the paying token that leaves the wallet, with the fees that are charged on top in this token. */
export function outlayOf({ from, fees }: Route): Amount {
  const { contract_address: address, decimals } = from.token;
  const onTop = fees.filter(({ token, included }) => {
    const isHere = (token.chain_id ?? from.chain_id) === from.chain_id;
    return !included && isHere && token.contract_address?.toLowerCase() === address.toLowerCase();
  });
  const sum = onTop.reduce((total, { amount }) => total + BigInt(amount?.raw ?? 0), BigInt(from.amount.raw));
  return amountOf(sum.toString(), decimals);
}

/** The total cost in US dollars, or null if unknown. If the network fee has no known price, it is not included. */
export function totalUsd({ from, fees, gas }: Route): string | null {
  const onTop = fees.filter(({ included }) => !included).map(({ usd }) => usd);
  return sum([from.usd, ...onTop, gas?.usd ?? "0"]);
}

/** The maximum of the native coin that the route may spend, in base units and without the network fee. */
export function mostCoins(route: Route): bigint {
  const paid = route.from.token.contract_address ? 0n : BigInt(route.from.amount.raw);
  const onTop = route.fees.reduce((sum, { included, amount }) => (included ? sum : sum + BigInt(amount?.raw ?? 0)), 0n);
  return paid + (onTop * (100n + MAX_GROWTH_PERCENT)) / 100n;
}
