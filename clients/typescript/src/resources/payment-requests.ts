import type { Payment, PaymentRequest, PaymentRequestStatus } from "../objects.js";
import { List, type ListParams, type Query } from "../pages.js";
import { checkedId, type RequestOptions, type Transport } from "../transport.js";

/** Null is as good as left out. */
type Optional<T> = T | null | undefined;

/** What to ask for. All but the first four may be left out. */
export interface PaymentRequestCreateParams {
  /** Whole units of the token, as a decimal string such as `"12.50"`. */
  amount: string;
  token_id: number;
  chain_id: number;
  /** The wallet to be paid. */
  recipient_address: string;
  /** Your own reference: the order number. */
  external_id?: Optional<string>;
  /** Shown to the customer. */
  description?: Optional<string>;
  metadata?: Optional<Record<string, string>>;
  /** Where the customer goes once it is paid. */
  redirect_url?: Optional<string>;
  /** Where a customer who gives up goes. */
  cancel_url?: Optional<string>;
  /** Seconds, 60 to 2592000; 3600 if left out. */
  expires_in?: Optional<number>;
  webhook_url?: Optional<string>;
  references?: Optional<boolean>;
}

export interface PaymentRequestListParams extends ListParams {
  status?: PaymentRequestStatus;
  external_id?: string;
  token_id?: number;
  chain_id?: number;
  created_after?: Date | string;
  created_before?: Date | string;
}

const PATH = "/api/payment-requests";

/** Requests for money. Changing anything needs `create_payments`, reading any key. */
export class PaymentRequests {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Asks for money; send the customer to the result's `payment_url`. */
  async create(params: PaymentRequestCreateParams, options?: RequestOptions): Promise<PaymentRequest> {
    const { amount } = params as { amount: unknown };
    if (typeof amount !== "string") {
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

  /** The requests that fit, newest first: await it for a page, or go through all with `for await`. */
  list(params: PaymentRequestListParams = {}, options?: RequestOptions): List<PaymentRequest> {
    const fetch = (query: Query) => this.#transport.request({ method: "GET", path: PATH, query }, options);
    return new List(fetch, params, (answer) => answer as PaymentRequest);
  }

  /** Cancels an active request; a cancelled one is returned as it is. */
  async cancel(id: string, options?: RequestOptions): Promise<PaymentRequest> {
    const path = `${PATH}/${checkedId(id)}/cancel`;
    return (await this.#transport.request({ method: "POST", path, body: {} }, options)) as PaymentRequest;
  }

  /** All payments of a request, newest first. */
  payments(id: string, params: ListParams = {}, options?: RequestOptions): List<Payment> {
    const path = `${PATH}/${checkedId(id)}/payments`;
    const fetch = (query: Query) => this.#transport.request({ method: "GET", path, query }, options);
    return new List(fetch, params, (answer) => answer as Payment);
  }

  /** Adds a transaction that the customer sent; a known one is returned, and retried where it can be. */
  async submitPayment(
    id: string,
    params: { transaction_hash: string; chain_id: number },
    options?: RequestOptions,
  ): Promise<Payment> {
    const path = `${PATH}/${checkedId(id)}/payments`;
    return (await this.#transport.request({ method: "POST", path, body: params }, options)) as Payment;
  }

  /** Has a failed payment looked at again. */
  async retryPayment(id: string, paymentId: string, options?: RequestOptions): Promise<Payment> {
    const path = `${PATH}/${checkedId(id)}/payments/${checkedId(paymentId)}/retry`;
    return (await this.#transport.request({ method: "POST", path, body: {} }, options)) as Payment;
  }

  /**
   * Accepts a payment that failed because nothing binds it to the request (`transaction_not_bound`,
   * `transaction_ambiguous` or `not_verifiable`); `reason` stays on record. Make sure that it is your customer's
   * transaction: the service can't.
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
