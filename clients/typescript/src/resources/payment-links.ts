import type { PaymentLink, Price } from "../objects.js";
import { List, type ListParams, type Query } from "../pages.js";
import { checkedId, type RequestOptions, type Transport } from "../transport.js";

/** The parameters of a new payment link. Set either `amount`, `price` or `open_amount`. */
export interface PaymentLinkCreateParams {
  /** Your name of the link. Customers don't see it. */
  name: string;
  token_id: number;
  chain_id: number;
  /** The recipient's wallet. */
  recipient_address: string;
  /** Whole units of the token, as a decimal string such as `"12.50"`. */
  amount?: string | null;
  /** The price, converted for each customer at the current rate. */
  price?: Price | null;
  /** The limits of the amount that the customer enters, as decimal strings. */
  open_amount?: { min: string; max?: string | null } | null;
  /** Text that customers see. */
  description?: string | null;
  max_payments?: number | null;
  /** The time after which the link accepts no payments (RFC 3339). */
  expires_at?: string | null;
  redirect_url?: string | null;
  metadata?: Record<string, string> | null;
}

export interface PaymentLinkListParams extends ListParams {
  is_active?: boolean;
}

const PATH = "/api/payment-links";

/** Pages where many customers can pay. Each customer gets a payment request. */
export class PaymentLinks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a payment link. Share its `url`. */
  async create(params: PaymentLinkCreateParams, options?: RequestOptions): Promise<PaymentLink> {
    const { amount, price, open_amount: limits } = params;
    for (const value of [amount, price?.amount, limits?.min, limits?.max] as unknown[]) {
      if (value !== undefined && value !== null && typeof value !== "string") {
        throw new TypeError(`Each amount should be a string such as "12.50", not a ${typeof value}.`);
      }
    }
    return (await this.#transport.request({ method: "POST", path: PATH, body: params }, options)) as PaymentLink;
  }

  /** Returns a payment link. */
  async retrieve(id: string, options?: RequestOptions): Promise<PaymentLink> {
    return (await this.#transport.request({ method: "GET", path: `${PATH}/${checkedId(id)}` }, options)) as PaymentLink;
  }

  /** Returns the matching links, newest first. */
  list(params: PaymentLinkListParams = {}, options?: RequestOptions): List<PaymentLink> {
    const fetch = (query: Query) => this.#transport.request({ method: "GET", path: PATH, query }, options);
    return new List(fetch, params, (answer) => answer as PaymentLink);
  }

  /** Renames a link, or switches it on or off. */
  async update(
    id: string,
    params: { is_active?: boolean; name?: string },
    options?: RequestOptions,
  ): Promise<PaymentLink> {
    const path = `${PATH}/${checkedId(id)}`;
    return (await this.#transport.request({ method: "PATCH", path, body: params }, options)) as PaymentLink;
  }
}
