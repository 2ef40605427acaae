/** When a call is made again, and how long to wait before. Pure, but for the dice. */

const FIRST_DELAY_SECONDS = 0.5;
const LONGEST_DELAY_SECONDS = 8;

/** A service that asks for a longer pause than this is not waited for: its answer is the caller's. */
export const LONGEST_RETRY_AFTER_SECONDS = 60;

/** Whether the same call may well succeed a little later. */
export function isTemporary(status: number, code: string | null): boolean {
  return status === 429 || status >= 500 || (status === 409 && code === "idempotency_key_in_use");
}

/**
 * Returns the seconds to wait after failed attempt number `attempt` (from 1): doubled each time up to 8, and half of it
 * by chance, so that many callers don't come back at once; never less than `retryAfter`, what the service asked for.
 */
export function delay(attempt: number, retryAfter: number | null, dice: () => number = Math.random): number {
  const full = Math.min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** Math.min(attempt - 1, 30));
  return Math.max(retryAfter ?? 0, (full / 2) * (1 + dice()));
}

/** Returns the seconds that a Retry-After header asks for, as a number or as a date; null where it is neither. */
export function parseRetryAfter(header: string | null, nowMs: number = Date.now()): number | null {
  const text = header?.trim() ?? "";
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  // A date in HTTP names its day first; Date.parse alone would take "-5" for a year.
  const at = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(at) ? null : Math.max(0, (at - nowMs) / 1000);
}
