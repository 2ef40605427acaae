import type { BuiltTransaction, Refund } from "../objects.js";
import { List, type ListParams, type Query } from "../pages.js";
import { checkedId, type RequestOptions, type Transport } from "../transport.js";

/** The parameters of a new refund. All are optional. */
export interface RefundCreateParams {
  /** Whole units of the requested token, as a decimal string. Default: the whole amount that you can still refund. */
  amount?: string | null;
  /**
   * The customer's wallet. If you don't know it, send the customer to `claim_url`. Don't use the sender of a payment.
   */
  recipient_address?: string | null;
  /** The payment to refund. */
  payment_id?: string | null;
  reason?: string | null;
}

/** Filters of a list of refunds. */
export interface RefundListParams extends ListParams {
  is_simulated?: boolean;
}

const PATH = "/api/refunds";

/** Refunds: money that you send back to customers. You sign each one with your own wallet. */
export class Refunds {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a refund of a payment request. */
  async create(paymentRequest: string, params: RefundCreateParams = {}, options?: RequestOptions): Promise<Refund> {
    const amount = (params as { amount?: unknown }).amount;
    if (amount !== undefined && amount !== null && typeof amount !== "string") {
      throw new TypeError(`amount should be a string such as "12.50", not a ${typeof amount}.`);
    }
    const path = `/api/payment-requests/${checkedId(paymentRequest)}/refunds`;
    return (await this.#transport.request({ method: "POST", path, body: params }, options)) as Refund;
  }

  /** Returns a refund. */
  async retrieve(id: string, options?: RequestOptions): Promise<Refund> {
    return (await this.#transport.request({ method: "GET", path: `${PATH}/${checkedId(id)}` }, options)) as Refund;
  }

  /** Returns the newest refunds, or only those of one payment request. */
  list(paymentRequest?: string | null, params: RefundListParams = {}, options?: RequestOptions): List<Refund> {
    const path = paymentRequest ? `/api/payment-requests/${checkedId(paymentRequest)}/refunds` : PATH;
    const fetch = (query: Query) => this.#transport.request({ method: "GET", path, query }, options);
    return new List(fetch, params, (answer) => answer as Refund);
  }

  /** Changes the address of a refund, before its transaction is built. */
  async changeAddress(id: string, params: { recipient_address: string }, options?: RequestOptions): Promise<Refund> {
    const path = `${PATH}/${checkedId(id)}/address`;
    return (await this.#transport.request({ method: "POST", path, body: params }, options)) as Refund;
  }

  /** Returns a new unsigned transaction that sends the refund. Sign it with your wallet. Each call builds a new one. */
  async build(id: string, params: { wallet_address: string }, options?: RequestOptions): Promise<BuiltTransaction> {
    const path = `${PATH}/${checkedId(id)}/build`;
    return (await this.#transport.request({ method: "POST", path, body: params }, options)) as BuiltTransaction;
  }

  /**
   * Submits the hash of the refund's transaction. You don't have to call this method: the service finds the transaction
   * by the refund's reference.
   */
  async submit(id: string, params: { transaction_hash: string }, options?: RequestOptions): Promise<Refund> {
    const path = `${PATH}/${checkedId(id)}/submit`;
    return (await this.#transport.request({ method: "POST", path, body: params }, options)) as Refund;
  }

  /** Cancels a refund whose transaction was not sent. A cancelled refund is returned unchanged. */
  async cancel(id: string, options?: RequestOptions): Promise<Refund> {
    const path = `${PATH}/${checkedId(id)}/cancel`;
    return (await this.#transport.request({ method: "POST", path, body: {} }, options)) as Refund;
  }
}
