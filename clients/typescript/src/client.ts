import { Chains, Currencies } from "./resources/catalogue.js";
import { PaymentLinks } from "./resources/payment-links.js";
import { PaymentRequests } from "./resources/payment-requests.js";
import { Refunds } from "./resources/refunds.js";
import { Sandbox } from "./resources/sandbox.js";
import { Deliveries, Events, Webhooks } from "./resources/webhooks.js";
import { Transport } from "./transport.js";

export interface ClientOptions {
  /** The deployment's URL, such as `https://pay.example.com`. */
  baseUrl: string;
  /** The timeout of each attempt in milliseconds. Default: 30000. */
  timeoutMs?: number;
  /**
   * The maximum number of retries. A call is retried after a failed connection, 429, 5xx or 409
   * `idempotency_key_in_use`. The pauses grow, and are at least as long as the service's `Retry-After`. Default: 3.
   */
  maxRetries?: number;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
}

/** Calls the API of one Quittance deployment with one key. Throws TypeError for a malformed key or URL. */
export class Client {
  readonly chains: Chains;
  readonly currencies: Currencies;
  readonly paymentRequests: PaymentRequests;
  readonly paymentLinks: PaymentLinks;
  readonly refunds: Refunds;
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly events: Events;
  readonly sandbox: Sandbox;
  /** The deployment that this client calls. */
  readonly baseUrl: string;

  constructor(apiKey: string, options: ClientOptions) {
    const transport = new Transport(apiKey, {
      baseUrl: options.baseUrl,
      timeoutMs: options.timeoutMs ?? 30_000,
      maxRetries: options.maxRetries ?? 3,
      fetch: options.fetch ?? ((...call) => fetch(...call)),
    });
    this.baseUrl = transport.baseUrl;
    this.chains = new Chains(transport);
    this.currencies = new Currencies(transport);
    this.paymentRequests = new PaymentRequests(transport);
    this.paymentLinks = new PaymentLinks(transport);
    this.refunds = new Refunds(transport);
    this.webhooks = new Webhooks(transport);
    this.deliveries = new Deliveries(transport);
    this.events = new Events(transport);
    this.sandbox = new Sandbox(transport);
  }
}
