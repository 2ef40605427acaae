import { InvalidRequestError } from "../errors.js";
import type { Outcome, PaymentRequest } from "../objects.js";
import { checkedId, type RequestOptions, type Transport } from "../transport.js";

/** The payment or refund to change, and the options of the call. */
export interface SimulateOptions extends RequestOptions {
  /** The open simulated payment to change. Default: the newest. If there is none, the sandbox creates a payment. */
  payment_id?: string;
  /** The refund to change. Default: the newest unfinished refund. If there is none, the sandbox creates a refund. */
  refund_id?: string;
}

const NOBODYS = "00000000-0000-0000-0000-000000000000";

/** Simulates outcomes of payment requests. Production deployments have no sandbox. */
export class Sandbox {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Simulates `outcome` for a request, and returns the request. Events are sent as in reality. Throws
   * InvalidRequestError `resource_missing` if there is no sandbox.
   */
  async simulate(id: string, outcome: Outcome, options: SimulateOptions = {}): Promise<PaymentRequest> {
    const { payment_id, refund_id, ...others } = options;
    const body = { outcome, payment_id, refund_id };
    const call = { method: "POST", path: pathOf(checkedId(id)), body } as const;
    return (await this.#transport.request(call, others)) as PaymentRequest;
  }

  /** Returns whether this deployment has a sandbox. The call has no side effects. */
  async isAvailable(options?: RequestOptions): Promise<boolean> {
    try {
      await this.#transport.request({ method: "GET", path: pathOf(NOBODYS) }, options);
    } catch (error) {
      if (!(error instanceof InvalidRequestError) || (error.status !== 404 && error.status !== 405)) throw error;
      return error.status === 405; // the path exists, for POST only
    }
    return true;
  }
}

function pathOf(id: string): string {
  return `/api/test/payment-requests/${id}/simulate`;
}
