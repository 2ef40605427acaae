/** The payments that arrived or are under way, as the screen with the deposit address shows them. */

import { amountOf } from "../money";
import type { Amount, Checkout, Payment } from "../server/types";

/**
 * The amount left to send once all payments under way have arrived; null if nothing is left. A payment whose amount is
 * unknown may pay everything, so nothing is left then.
 */
export function leftToSend({ amount_remaining: remaining }: Checkout, underWay: readonly Payment[]): Amount | null {
  let left = BigInt(remaining.raw);
  for (const { type, amount } of underWay) {
    if (type !== "direct" || !amount) return null;
    left -= BigInt(amount.raw);
  }
  return left > 0n ? amountOf(left.toString(), remaining.decimals) : null;
}
