import type { Payment, PaymentRequest, PaymentRequestStatus, Price } from "../objects.js";
import { List, type ListParams, type Query } from "../pages.js";
import { checkedId, type RequestOptions, type Transport } from "../transport.js";

/** An optional parameter. Null counts as missing. */
type Optional<T> = T | null | undefined;

/** The parameters of a new payment request. You must set an amount or a price, a token, its chain, and a recipient. */
export interface PaymentRequestCreateParams {
  /** Whole units of the token, as a decimal string such as `"12.50"`. */
  amount?: string;
  /** The price in a currency instead of `amount`, such as `{currency: "EUR", amount: "25.00"}`. */
  price?: Optional<Price>;
  token_id: number;
  chain_id: number;
  /** The recipient's wallet. */
  recipient_address: string;
  /** Your own reference, such as an order number. */
  external_id?: Optional<string>;
  /** Text that the customer sees. */
  description?: Optional<string>;
  metadata?: Optional<Record<string, string>>;
  /** The URL that customers return to after completion. */
  redirect_url?: Optional<string>;
  /** The URL for customers who cancel. */
  cancel_url?: Optional<string>;
  /** Seconds, from 60 to 2592000. Default: 3600. */
  expires_in?: Optional<number>;
  webhook_url?: Optional<string>;
  references?: Optional<boolean>;
}

/**
 * The parameters of a new payment request by a payment link. The link sets the token, the chain, the recipient, and the
 * amount or price.
 */
export interface PaymentRequestByLinkParams
  extends Omit<PaymentRequestCreateParams, "price" | "token_id" | "chain_id" | "recipient_address" | "expires_in"> {
  payment_link: string;
}

export interface PaymentRequestListParams extends ListParams {
  status?: PaymentRequestStatus;
  external_id?: string;
  token_id?: number;
  chain_id?: number;
  payment_link?: string;
  created_after?: Date | string;
  created_before?: Date | string;
  is_simulated?: boolean;
}

const PATH = "/api/payment-requests";

/** Payment requests. Changes require the permission `create_payments`. Any key can read. */
export class PaymentRequests {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a payment request. Send the customer to the result's `payment_url`. */
  async create(
    params: PaymentRequestCreateParams | PaymentRequestByLinkParams,
    options?: RequestOptions,
  ): Promise<PaymentRequest> {
    const asked = params as { amount?: unknown; price?: { amount?: unknown } | null; payment_link?: string };
    const amount = asked.price ? asked.price.amount : asked.amount;
    const isSetByLink = asked.payment_link !== undefined && (amount === undefined || amount === null);
    if (typeof amount !== "string" && !isSetByLink) {
      throw new TypeError(
        `amount should be a string such as "12.50", not a ${typeof amount}: a number can't hold most decimal amounts ` +
          "exactly (0.1 + 0.2 is 0.30000000000000004).",
      );
    }
    return (await this.#transport.request({ method: "POST", path: PATH, body: params }, options)) as PaymentRequest;
  }

  /** Returns a request with its newest 20 payments. */
  async retrieve(id: string, options?: RequestOptions): Promise<PaymentRequest> {
    return (await this.#transport.request({ method: "GET", path: `${PATH}/${checkedId(id)}` }, options)) as PaymentRequest;
  }

  /**
   * Returns the matching requests, newest first. Await the result to get a page, or iterate over all with `for await`.
   */
  list(params: PaymentRequestListParams = {}, options?: RequestOptions): List<PaymentRequest> {
    const fetch = (query: Query) => this.#transport.request({ method: "GET", path: PATH, query }, options);
    return new List(fetch, params, (answer) => answer as PaymentRequest);
  }

  /** Cancels an active request. A cancelled request is returned unchanged. */
  async cancel(id: string, options?: RequestOptions): Promise<PaymentRequest> {
    const path = `${PATH}/${checkedId(id)}/cancel`;
    return (await this.#transport.request({ method: "POST", path, body: {} }, options)) as PaymentRequest;
  }

  /** Returns all payments of a request, newest first. */
  payments(id: string, params: ListParams = {}, options?: RequestOptions): List<Payment> {
    const path = `${PATH}/${checkedId(id)}/payments`;
    const fetch = (query: Query) => this.#transport.request({ method: "GET", path, query }, options);
    return new List(fetch, params, (answer) => answer as Payment);
  }

  /**
   * Submits a transaction that the customer sent. If the service knows this transaction already, returns its payment.
   * If that payment has failed, its verification is retried if possible.
   */
  async submitPayment(
    id: string,
    params: { transaction_hash: string; chain_id: number },
    options?: RequestOptions,
  ): Promise<Payment> {
    const path = `${PATH}/${checkedId(id)}/payments`;
    return (await this.#transport.request({ method: "POST", path, body: params }, options)) as Payment;
  }

  /** Retries the verification of a failed payment. */
  async retryPayment(id: string, paymentId: string, options?: RequestOptions): Promise<Payment> {
    const path = `${PATH}/${checkedId(id)}/payments/${checkedId(paymentId)}/retry`;
    return (await this.#transport.request({ method: "POST", path, body: {} }, options)) as Payment;
  }

  /**
   * Accepts a payment that is not bound to the request. The payment's `failure_code` is `transaction_not_bound`,
   * `transaction_ambiguous` or `not_verifiable`. The `reason` is stored in the history. First check that your customer
   * sent the transaction, because the service can't.
   */
  async acceptPayment(
    id: string,
    paymentId: string,
    params: { reason: string },
    options?: RequestOptions,
  ): Promise<Payment> {
    const path = `${PATH}/${checkedId(id)}/payments/${checkedId(paymentId)}/accept`;
    return (await this.#transport.request({ method: "POST", path, body: params }, options)) as Payment;
  }
}
