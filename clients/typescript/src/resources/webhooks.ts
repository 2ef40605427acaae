import { readEvent } from "../events.js";
import type { Delivery, DeliveryStatus, Event, EventType, WebhookConfiguration, WebhookTest } from "../objects.js";
import { List, type ListParams, type Query } from "../pages.js";
import { checkedId, type RequestOptions, type Transport } from "../transport.js";

/** The new settings of the endpoint. Omitted fields stay unchanged, except `url`. */
export interface WebhookUpdateParams {
  /** Null removes the endpoint. */
  url: string | null;
  is_enabled?: boolean;
  /** Null means the default types. */
  enabled_events?: EventType[] | null;
  /** Whether to create a new secret. For 24 hours, events are also signed with the previous secret. */
  rotate_secret?: boolean;
}

export interface DeliveryListParams extends ListParams {
  event_id?: string;
  type?: EventType;
  status?: DeliveryStatus;
}

export interface RedeliverFailedParams {
  since: Date | string;
  type?: EventType;
}

export interface EventListParams extends ListParams {
  type?: EventType;
  created_after?: Date | string;
  created_before?: Date | string;
}

const PATH = "/api/webhooks";

/** This merchant's endpoint. Requires the permission `manage_webhooks`. */
export class Webhooks {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the endpoint and its secret. All fields are null if there is no endpoint. */
  async retrieve(options?: RequestOptions): Promise<WebhookConfiguration> {
    return (await this.#transport.request({ method: "GET", path: PATH }, options)) as WebhookConfiguration;
  }

  /**
   * Changes the endpoint and returns it. If the response to a rotation of the secret is lost, the call is not retried.
   * Call `retrieve()` to see the current secret.
   */
  async update(params: WebhookUpdateParams, options?: RequestOptions): Promise<WebhookConfiguration> {
    const call = { method: "PUT", path: PATH, body: params, isRepeatable: !params.rotate_secret } as const;
    return (await this.#transport.request(call, options)) as WebhookConfiguration;
  }

  /** Sends a test event to the endpoint immediately, without retries, and returns the result. */
  async test(params: { type?: EventType } = {}, options?: RequestOptions): Promise<WebhookTest> {
    const path = `${PATH}/test`;
    return (await this.#transport.request({ method: "POST", path, body: params }, options)) as WebhookTest;
  }
}

/** Deliveries to the endpoint, including test events. Requires the permission `manage_webhooks`. */
export class Deliveries {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the matching deliveries, newest first. */
  list(params: DeliveryListParams = {}, options?: RequestOptions): List<Delivery> {
    const path = `${PATH}/deliveries`;
    const fetch = (query: Query) => this.#transport.request({ method: "GET", path, query }, options);
    return new List(fetch, params, (answer) => answer as Delivery);
  }

  /** Returns a delivery with all of its attempts. */
  async retrieve(id: string, options?: RequestOptions): Promise<Delivery> {
    const path = `${PATH}/deliveries/${checkedId(id)}`;
    return (await this.#transport.request({ method: "GET", path }, options)) as Delivery;
  }

  /** Sends a delivery again, whatever its status. */
  async redeliver(id: string, options?: RequestOptions): Promise<Delivery> {
    const path = `${PATH}/deliveries/${checkedId(id)}/redeliver`;
    return (await this.#transport.request({ method: "POST", path, body: {} }, options)) as Delivery;
  }

  /**
   * Sends again all deliveries that failed at `since` or later. Returns how many deliveries it sent, at most 10,000. If
   * the result is 10,000, call it again.
   */
  async redeliverFailed(params: RedeliverFailedParams, options?: RequestOptions): Promise<number> {
    const since = params.since instanceof Date ? params.since.toISOString() : params.since;
    const body = params.type === undefined ? { since } : { since, type: params.type };
    const path = `${PATH}/deliveries/redeliver`;
    const answer = await this.#transport.request({ method: "POST", path, body }, options);
    return (answer as { count: number }).count;
  }
}

/** Events of the last 30 days, including those that were not delivered. */
export class Events {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Returns the events that match the filters, newest first. To poll, send the newest event's id as `ending_before`.
   * You then get each later event exactly once, oldest first.
   */
  list(params: EventListParams = {}, options?: RequestOptions): List<Event> {
    const fetch = (query: Query) => this.#transport.request({ method: "GET", path: "/api/events", query }, options);
    return new List(fetch, params, readEvent);
  }

  /** Returns one event. */
  async retrieve(id: string, options?: RequestOptions): Promise<Event> {
    return readEvent(await this.#transport.request({ method: "GET", path: `/api/events/${checkedId(id)}` }, options));
  }
}
