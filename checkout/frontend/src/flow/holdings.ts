/** What the connected wallet can pay with: asked of the server in two steps, and put in the order of usefulness. */

import { isZero, larger } from "../money";
import type { Api } from "../server/api";
import type { Amount, Checkout, Held, Token, Unavailable } from "../server/types";

/** A token that the customer may choose; `balance` is null where it could not be asked. */
export interface Option {
  chainId: number;
  token: Token;
  balance: Amount | null;
  usd: string | null;
  logo: string | null;
  isRequested: boolean;
  isEnough: boolean;
}

/** The first answer has what most people pay with, the second one everything else. */
export class Holdings {
  isLoading = false;
  /** Whether the wallet's tokens could not be asked for at all. */
  isIncomplete = false;
  /** Grows with each change. */
  version = 0;
  private isLoaded = false;
  private readonly found = new Map<string, Held>();
  private readonly missing = new Set<number>();

  constructor(
    private readonly api: Api,
    private readonly account: string,
    private readonly checkout: () => Checkout,
    private readonly onChange: () => void,
  ) {}

  /** Whether the requested token is there in full, as far as its own chain tells; null when it can't be asked. */
  async hasRequested(): Promise<boolean | null> {
    try {
      const { balances, unavailable } = await this.api.essentialBalances(this.account, [this.checkout().chain_id]);
      this.take(balances, unavailable);
    } catch {
      return null;
    }
    const requested = [...this.found.values()].find((held) => this.isRequested(held));
    return requested ? this.isEnough(requested) : null;
  }

  /** Loads everything that is missing, or all of it again, and reports each answer as it arrives. */
  async load(isAskedAnew: boolean): Promise<void> {
    if (this.isLoading || (this.isLoaded && !isAskedAnew)) return;
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

  /** The chains that could not be asked. */
  get unavailable(): number[] {
    return [...this.missing];
  }

  /**
   * The requested token; what is enough before what is not; the requested token's namesakes on other networks; tokens of
   * the catalogue before unknown ones; the most valuable first.
   */
  options(canHoldRequested: boolean): Option[] {
    const options = [...this.found.values()].map((held) => this.option(held));
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
    const isKnown = ({ token: { id } }: Option): boolean => id !== null;
    const isNamesake = (option: Option): boolean => isKnown(option) && option.token.symbol === token.symbol;
    const isHere = (option: Option): number => Number(option.chainId === chainId);
    others.sort(
      (one, other) =>
        Number(other.isEnough) - Number(one.isEnough) ||
        Number(isNamesake(other)) - Number(isNamesake(one)) ||
        Number(isKnown(other)) - Number(isKnown(one)) ||
        larger(one.usd, other.usd) ||
        isHere(other) - isHere(one) ||
        one.token.symbol.localeCompare(other.token.symbol),
    );
    return canHoldRequested ? [requested, ...others] : others;
  }

  private take(held: Held[], unavailable: Unavailable[]): void {
    for (const one of held) {
      const key = `${one.chain_id}:${one.token.contract_address}`;
      const known = this.found.get(key);
      // Whether it is enough is said by the first answer alone.
      this.found.set(key, { ...known, ...one, usd: one.usd ?? known?.usd ?? null });
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
    const wanted = this.checkout();
    return chainId === wanted.chain_id && token.contract_address === wanted.token.contract_address;
  }

  private isEnough(held: Held): boolean {
    if (this.isRequested(held)) return BigInt(held.balance.raw) >= BigInt(this.checkout().amount_remaining.raw);
    return held.sufficient ?? true;
  }
}
