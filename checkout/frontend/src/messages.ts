/**
 * The checkout and the shop's page around it send each other these messages, by postMessage. A message contains only
 * the request's id and status. A message proves nothing: the shop's server must check the status.
 */

export const VERSION = 1;

/** The shop's page sends this first. The checkout sends messages only to that page. */
export interface Hello {
  quittance: typeof VERSION;
  type: "hello";
  /** Whether the shop's page can close the checkout. An overlay can be closed; a checkout inside an element can't. */
  closable: boolean;
}

export type CheckoutMessage = { quittance: typeof VERSION } & (
  | { type: "status"; payment_request_id: string; status: string; is_busy: boolean }
  | { type: "height"; height: number }
  | { type: "close" }
);

export function isMessage(data: unknown): data is { quittance: typeof VERSION; type: string } {
  const { quittance, type } = (data ?? {}) as { quittance?: unknown; type?: unknown };
  return quittance === VERSION && typeof type === "string";
}
