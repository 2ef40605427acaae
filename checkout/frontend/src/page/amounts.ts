/** The amount in the page's header, with its label and the price. */

import { copy } from "../copy";
import { byId } from "../dom";
import { isZero, plain } from "../money";
import { isWholeShown } from "../screens/outcomes";
import { partialText } from "../screens/parts";
import type { Checkout } from "../server/types";

const LABELS: Readonly<Record<string, (merchant: string) => string>> = {
  completed: copy.paidTo,
  expired: () => copy.amount,
  cancelled: () => copy.amount,
};

export class Amounts {
  private readonly dueLabel = byId("amount-label").dataset["due"] ?? copy.amount;

  /** `isHeld`: nothing can be paid now, because a payment is under way or the time is up. */
  show(checkout: Checkout, isHeld: boolean): void {
    const { status, amount, amount_paid, amount_remaining, merchant } = checkout;
    const isPart = status === "active" && partialText(checkout) !== null;
    const isMore = isWholeShown(checkout);
    byId("amount").textContent = plain(isPart ? amount_remaining : isMore ? amount_paid : amount);
    // The price belongs to the requested amount, not to the remaining or the paid one.
    const price = document.getElementById("price")?.closest<HTMLElement>(".price__currency");
    if (price) price.hidden = isPart || isMore;
    // Nothing is due if the request is paid in full and waits for the merchant, or if nothing can be paid now.
    const isDue = !isHeld && !isZero(amount_remaining) && checkout.is_available !== false;
    const active = isDue ? this.dueLabel : copy.amount;
    const ended = LABELS[status]?.(merchant.name);
    const label = isPart ? copy.leftToPay(merchant.name) : status === "active" ? active : ended;
    if (label) byId("amount-label").textContent = label;
    // The QR code requests the amount that remained when the server rendered the page.
    const scan = document.getElementById("scan");
    if (scan) scan.hidden = scan.dataset.remaining !== amount_remaining.raw;
  }
}
