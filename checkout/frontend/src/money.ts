/** Amounts for people. Strings throughout: no amount is ever a floating-point number. */

import type { Amount } from "./types";

/** The whole amount without trailing zeros, but with two fraction digits where the token has them. */
export function plain(amount: Amount): string {
  const [whole = "0", fraction = ""] = amount.formatted.split(".");
  const trimmed = fraction.replace(/0+$/, "").padEnd(Math.min(2, amount.decimals), "0");
  return trimmed ? `${whole}.${trimmed}` : whole;
}

export function isZero(amount: Amount): boolean {
  return BigInt(amount.raw) === 0n;
}
