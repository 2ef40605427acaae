/** The routes offered on this page, requested once per token and kept until they expire. */

import { copy } from "../copy";
import { messageFor } from "../language";
import { amountOf, sum } from "../money";
import type { Api } from "../server/api";
import type { Amount, Checkout, Route } from "../server/types";
import type { Option } from "./holdings";

const MARGIN_MS = 5_000;
/** What bridges take on top moves with every block; the review says so. */
const MOST_GROWTH_PERCENT = 10n;

/** Routes, the recommended one first; or, in words, why there are none. */
export type Found = Route[] | string;

export class RouteBook {
  private readonly kept = new Map<string, Promise<Found>>();

  constructor(
    private readonly api: Api,
    private readonly checkout: () => Checkout,
    private readonly now: () => number,
  ) {}

  async find(account: string, option: Option): Promise<Found> {
    const key = [account, option.chainId, option.token.contract_address, this.checkout().amount_remaining.raw].join();
    const known = await this.kept.get(key);
    if (known && typeof known !== "string" && known.every((route) => this.isFresh(route))) return known;
    const asked = this.ask(account, option);
    this.kept.set(key, asked);
    // What failed may be asked again.
    asked.catch(() => this.kept.delete(key));
    return asked;
  }

  /** Forgets the offers, so that the next question loads new ones. */
  clear(): void {
    this.kept.clear();
  }

  isFresh(route: Route): boolean {
    return Date.parse(route.expires_at) - MARGIN_MS > this.now();
  }

  private async ask(account: string, option: Option): Promise<Found> {
    const { routes, reason } = await this.api.routes(account, option.chainId, option.token);
    return routes.length > 0 ? routes : messageFor("refusal", reason?.code ?? "", reason?.message ?? "") || copy.notices.noRoute;
  }
}

/** The bridges and exchanges that a route goes through, by name. */
export function toolsOf(route: Route): string[] {
  return [...new Set(route.steps.flatMap(({ tool }) => (tool ? [tool] : [])))];
}

/** What the wallet's transaction calls, where that is not the token or the merchant. */
export function contractOf(route: Route): string | null {
  return route.steps.find((step) => step.contract_address)?.contract_address ?? null;
}

/** The contract that needs an approval; null where none does. */
export function spenderOf(route: Route): string | null {
  return route.steps.find((step) => step.spender)?.spender ?? null;
}

/** What leaves the wallet of the token that is paid with, with the fees that are taken of it on top. */
export function outlayOf({ from, fees }: Route): Amount {
  const { contract_address: address, decimals } = from.token;
  const onTop = fees.filter(({ token, included }) => {
    const isHere = (token.chain_id ?? from.chain_id) === from.chain_id;
    return !included && isHere && token.contract_address?.toLowerCase() === address.toLowerCase();
  });
  const sum = onTop.reduce((total, { amount }) => total + BigInt(amount?.raw ?? 0), BigInt(from.amount.raw));
  return amountOf(sum.toString(), decimals);
}

/** What a route costs in all, in US dollars; without the network's fee where no price is known for that. Null: unknown. */
export function totalUsd({ from, fees, gas }: Route): string | null {
  const onTop = fees.filter(({ included }) => !included).map(({ usd }) => usd);
  return sum([from.usd, ...onTop, gas?.usd ?? "0"]);
}

/** The most of its chain's own coin that the route takes beside the network's fee, in base units. */
export function mostCoins(route: Route): bigint {
  const paid = route.from.token.contract_address ? 0n : BigInt(route.from.amount.raw);
  const onTop = route.fees.reduce((sum, { included, amount }) => (included ? sum : sum + BigInt(amount?.raw ?? 0)), 0n);
  return paid + (onTop * (100n + MOST_GROWTH_PERCENT)) / 100n;
}
