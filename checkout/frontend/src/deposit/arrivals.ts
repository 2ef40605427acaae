/** What arrived, or is about to arrive, for a request, as the screen of the deposit address shows it. */

import { amountOf } from "../money";
import type { Amount, Checkout, Payment } from "../server/types";

/**
 * The amount to send once all that is under way has arrived; null if nothing is left to send. A payment whose amount is
 * unknown may pay everything.
 */
export function leftToSend({ amount_remaining: remaining }: Checkout, underWay: readonly Payment[]): Amount | null {
  let left = BigInt(remaining.raw);
  for (const { type, amount } of underWay) {
    if (type !== "direct" || !amount) return null;
    left -= BigInt(amount.raw);
  }
  return left > 0n ? amountOf(left.toString(), remaining.decimals) : null;
}
