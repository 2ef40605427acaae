import { InvalidRequestError } from "../errors.js";
import type { Outcome, PaymentRequest } from "../objects.js";
import { checkedId, type RequestOptions, type Transport } from "../transport.js";

const NOBODYS = "00000000-0000-0000-0000-000000000000";

/** Simulates outcomes of payment requests. Production deployments have no sandbox. */
export class Sandbox {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Has `outcome` happen to a request, with the events of real life, and returns the request. Throws InvalidRequestError
   * `resource_missing` where there is no sandbox.
   */
  async simulate(id: string, outcome: Outcome, options?: RequestOptions): Promise<PaymentRequest> {
    const call = { method: "POST", path: pathOf(checkedId(id)), body: { outcome } } as const;
    return (await this.#transport.request(call, options)) as PaymentRequest;
  }

  /** Whether this deployment has a sandbox. Has no side effects. */
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
