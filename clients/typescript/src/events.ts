import { APIError } from "./errors.js";
import type { Event } from "./objects.js";

/**
 * Returns the event in this parsed JSON. JSON.parse rounds numbers beyond 2^53, so the exact amount is taken from
 * `amount_details`. Throws APIError if the JSON is not an event.
 */
export function readEvent(answer: unknown): Event {
  const event = answer as { id?: unknown; type?: unknown; data?: { object?: Record<string, unknown> } } | null;
  const object = event?.data?.object;
  if (typeof event?.id !== "string" || typeof event.type !== "string" || typeof object !== "object" || object === null) {
    throw new APIError("This is not an event.");
  }
  const exact = (object["amount_details"] as { raw?: unknown } | undefined)?.raw;
  const { amount } = object;
  if (typeof exact === "string") {
    object["amount"] = exact;
  } else if (typeof amount === "number") {
    if (!Number.isSafeInteger(amount)) {
      throw new APIError("The event has no amount_details, so its exact amount is unknown.");
    }
    object["amount"] = String(amount);
  }
  return answer as Event;
}
