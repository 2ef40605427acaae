/** Where the page leads once the request has ended. */

import { webUrl } from "../dom";
import type { Checkout } from "../server/types";
import type { UnderWay } from "./under-way";

/** What happened while this browser had the page open. */
interface Here {
  wasPaidHere: boolean;
  wasCancelledHere: boolean;
}

/** Return the shop's URL if the request was paid here, or was cancelled while the page was open. */
export function destinationOf(checkout: Checkout, underWay: UnderWay, here: Here): string | null {
  const { status, redirect_url, cancel_url, amount_paid } = checkout;
  if (status === "completed" && here.wasPaidHere) return webUrl(redirect_url);
  // A customer who paid a cancelled request must be able to read what happens to the money.
  const isUnpaid = !underWay.isAny && amount_paid.raw === "0" && underWay.unbound === null;
  return status === "cancelled" && here.wasCancelledHere && isUnpaid ? webUrl(cancel_url) : null;
}
