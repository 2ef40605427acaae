/**
 * The tokens that the connected wallet can pay with. The first of two requests loads the tokens that customers use
 * most, and the second one loads all others.
 */

import { isZero, larger } from "../money";
import type { Api } from "../server/api";
import type { Amount, Checkout, Held, Token, Unavailable } from "../server/types";

/** A token that the customer can choose. `balance` is null if it couldn't be loaded. */
export interface Option {
  chainId: number;
  token: Token;
  balance: Amount | null;
  usd: string | null;
  logo: string | null;
  isRequested: boolean;
  isEnough: boolean;
}

/** The first request loads the tokens that customers use most. The second one loads all others. */
export class Balances {
  isLoading = false;
  /** Whether at least one of the requests failed. */
  isIncomplete = false;
  /** A counter that increases with each change of the balances. */
  version = 0;
  private isLoaded = false;
  private readonly heldTokens = new Map<string, Held>();
  private readonly missing = new Set<number>();

  constructor(
    private readonly api: Api,
    private readonly account: string,
    private readonly checkout: () => Checkout,
    private readonly onChange: () => void,
  ) {}

  /** Whether the balance of the requested token is enough to pay the request. Null if it couldn't be loaded. */
  async hasRequested(): Promise<boolean | null> {
    try {
      const { balances, unavailable } = await this.api.essentialBalances(this.account, [this.checkout().chain_id]);
      this.take(balances, unavailable);
    } catch {
      return null;
    }
    const requested = [...this.heldTokens.values()].find((held) => this.isRequested(held));
    return requested ? this.isEnough(requested) : null;
  }

  /** Load the balances. With `isRefresh`, load them again. `onChange` is called after each response. */
  async load(isRefresh: boolean): Promise<void> {
    if (this.isLoading || (this.isLoaded && !isRefresh)) return;
    this.isLoading = true;
    this.isIncomplete = false;
    this.missing.clear();
    this.changed();
    const essential = this.api
      .essentialBalances(this.account)
      .then(({ balances, unavailable }) => this.take(balances, unavailable));
    const all = this.api.walletTokens(this.account).then(({ tokens, unavailable }) => this.take(tokens, unavailable));
    await Promise.allSettled([essential, all].map((part) => part.catch(() => (this.isIncomplete = true))));
    this.isLoading = false;
    this.isLoaded = !this.isIncomplete;
    this.changed();
  }

  /** Load the balances of a chain's most used tokens, if they aren't loaded yet. */
  async ensure(chainId: number): Promise<void> {
    if (this.isLoading || this.missing.has(chainId) || this.balanceOf(chainId, "")) return;
    await this.api
      .essentialBalances(this.account, [chainId])
      .then(({ balances, unavailable }) => this.take(balances, unavailable))
      .catch(() => undefined);
  }

  /** The balance of a token. An empty address means the chain's coin. Null if the balance isn't loaded. */
  balanceOf(chainId: number, address: string): Amount | null {
    return this.heldTokens.get(`${chainId}:${address}`)?.balance ?? null;
  }

  /** The chains whose balances couldn't be loaded. */
  get unavailable(): number[] {
    return [...this.missing];
  }

  /**
   * Return the options in the order of the list. The requested token is first. Tokens with a sufficient balance come
   * before those without. Within each of these two groups, tokens are sorted by these criteria: the requested symbol,
   * the catalogue, the value in US dollars, the request's chain, and the symbol's letters.
   */
  options(canHoldRequested: boolean): Option[] {
    const options = [...this.heldTokens.values()].map((held) => this.option(held));
    const { chain_id: chainId, token } = this.checkout();
    const requested: Option = options.find((option) => option.isRequested) ?? {
      chainId,
      token,
      balance: null,
      usd: null,
      logo: null,
      isRequested: true,
      isEnough: true,
    };
    const others = options.filter(({ isRequested, balance }) => !isRequested && balance && !isZero(balance));
    const isInCatalogue = ({ token: { id } }: Option): boolean => id !== null;
    const hasSameSymbol = (option: Option): boolean => isInCatalogue(option) && option.token.symbol === token.symbol;
    const isOnRequestedChain = (option: Option): number => Number(option.chainId === chainId);
    others.sort(
      (one, other) =>
        Number(other.isEnough) - Number(one.isEnough) ||
        Number(hasSameSymbol(other)) - Number(hasSameSymbol(one)) ||
        Number(isInCatalogue(other)) - Number(isInCatalogue(one)) ||
        larger(one.usd, other.usd) ||
        isOnRequestedChain(other) - isOnRequestedChain(one) ||
        one.token.symbol.localeCompare(other.token.symbol),
    );
    return canHoldRequested ? [requested, ...others] : others;
  }

  private take(held: Held[], unavailable: Unavailable[]): void {
    for (const one of held) {
      const key = `${one.chain_id}:${one.token.contract_address}`;
      const earlier = this.heldTokens.get(key);
      // Keep `sufficient`, because only the first response has it.
      this.heldTokens.set(key, { ...earlier, ...one, usd: one.usd ?? earlier?.usd ?? null });
    }
    for (const { chain_id: chainId } of unavailable) this.missing.add(chainId);
    this.changed();
  }

  private changed(): void {
    this.version += 1;
    this.onChange();
  }

  private option(held: Held): Option {
    const { chain_id: chainId, token, balance, usd, logo_url: logo } = held;
    return { chainId, token, balance, usd, logo: logo ?? null, isRequested: this.isRequested(held), isEnough: this.isEnough(held) };
  }

  private isRequested({ chain_id: chainId, token }: Held): boolean {
    const request = this.checkout();
    return chainId === request.chain_id && token.contract_address === request.token.contract_address;
  }

  private isEnough(held: Held): boolean {
    if (this.isRequested(held)) return BigInt(held.balance.raw) >= BigInt(this.checkout().amount_remaining.raw);
    return held.sufficient ?? true;
  }
}
