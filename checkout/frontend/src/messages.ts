/**
 * What the checkout's page and a shop's page around it say to each other by postMessage. Whoever could listen learns
 * no more than the request's id and its status, and nobody should believe a word of it without the shop's server.
 */

export const VERSION = 1;

/** The shop's page greets the checkout, which answers its greeter alone. */
export interface Hello {
  quittance: typeof VERSION;
  type: "hello";
  /** Whether the shop's page can close the checkout: it stands over the page, not in it. */
  closable: boolean;
}

export type Told = { quittance: typeof VERSION } & (
  | { type: "status"; payment_request_id: string; status: string; is_busy: boolean }
  | { type: "height"; height: number }
  | { type: "close" }
);

export function isMessage(data: unknown): data is { quittance: typeof VERSION; type: string } {
  const { quittance, type } = (data ?? {}) as { quittance?: unknown; type?: unknown };
  return quittance === VERSION && typeof type === "string";
}
