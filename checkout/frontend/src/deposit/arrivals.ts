/** The payments on the screen with the deposit address: those that arrived, and those under way. */

import { amountOf } from "../money";
import type { Amount, Checkout, Payment } from "../server/types";

/**
 * The amount left to send after all payments under way have arrived, or null if nothing is left. The result is also
 * null if the amount of a payment is unknown, because that payment may pay everything.
 */
export function leftToSend({ amount_remaining: remaining }: Checkout, underWay: readonly Payment[]): Amount | null {
  let left = BigInt(remaining.raw);
  for (const { type, amount } of underWay) {
    if (type !== "direct" || !amount) return null;
    left -= BigInt(amount.raw);
  }
  return left > 0n ? amountOf(left.toString(), remaining.decimals) : null;
}
