import type { Chain, Currency, Token } from "../objects.js";
import type { RequestOptions, Transport } from "../transport.js";

/** The catalogue. Calls of the catalogue don't send the API key. */
export class Chains {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the active chains. */
  async list(options?: RequestOptions): Promise<Chain[]> {
    return (await this.#transport.request({ method: "GET", path: "/api/public/chains" }, options)) as Chain[];
  }

  /** Returns the active tokens of a chain. */
  async tokens(chainId: number, options?: RequestOptions): Promise<Token[]> {
    if (!Number.isSafeInteger(chainId)) throw new TypeError("chainId should be a whole number.");
    const path = `/api/public/chains/${chainId}/tokens`;
    return (await this.#transport.request({ method: "GET", path }, options)) as Token[];
  }
}

/** The currencies for prices. Calls about currencies don't send the API key. */
export class Currencies {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the currencies. `is_available` says whether a currency can be used now. */
  async list(options?: RequestOptions): Promise<Currency[]> {
    return (await this.#transport.request({ method: "GET", path: "/api/public/currencies" }, options)) as Currency[];
  }
}
