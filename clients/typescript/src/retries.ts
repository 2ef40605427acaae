/** Decides whether to retry a call, and how long to wait. */

const FIRST_DELAY_SECONDS = 0.5;
const LONGEST_DELAY_SECONDS = 8;

/** If the service requires a longer pause, the call is not retried. The caller gets the error. */
export const LONGEST_RETRY_AFTER_SECONDS = 60;

/** Whether the same call may succeed later. */
export function isTemporary(status: number, code: string | null): boolean {
  return status === 429 || status >= 500 || (status === 409 && code === "idempotency_key_in_use");
}

/**
 * Returns how many seconds to wait after attempt number `attempt` has failed. The first attempt has number 1. The delay
 * doubles each time, up to 8 s. Half of it is random, so that many callers don't retry at the same time. The delay is
 * at least the service's `retryAfter`.
 */
export function delay(attempt: number, retryAfter: number | null, dice: () => number = Math.random): number {
  const full = Math.min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** Math.min(attempt - 1, 30));
  return Math.max(retryAfter ?? 0, (full / 2) * (1 + dice()));
}

/** Returns the seconds in a Retry-After header, which is a number or a date. Returns null if it is neither. */
export function parseRetryAfter(header: string | null, nowMs: number = Date.now()): number | null {
  const text = header?.trim() ?? "";
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  // HTTP dates begin with a weekday. Without this check, Date.parse would read "-5" as a year.
  const at = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? null : Math.max(0, (at - nowMs) / 1000);
}
