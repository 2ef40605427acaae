/**
 * The messages that the checkout and the shop's page around it send to each other by postMessage. A listener gets only
 * the request's id and its status, which prove nothing until the shop's server confirms them.
 */

export const VERSION = 1;

/** The shop's page sends this first; the checkout responds to that page only. */
export interface Hello {
  quittance: typeof VERSION;
  type: "hello";
  /** Whether the shop's page can close the checkout: it is an overlay, not a part of the page. */
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
