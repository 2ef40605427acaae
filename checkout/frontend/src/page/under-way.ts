/** The payment under way for the request, according to the server's payments and to this browser's record. */

import { isZero } from "../money";
import { estimateOf, type Estimate } from "../screens/estimate";
import { latest } from "../screens/outcomes";
import { paidSoFar } from "../screens/parts";
import { isAwaited, type Batch } from "../server/batches";
import type { Outbox, OwnTransaction } from "../server/outbox";
import * as progress from "../server/progress";
import type { Checkout, Payment } from "../server/types";

export class UnderWay {
  constructor(
    private readonly outbox: Outbox,
    private readonly checkout: () => Checkout,
  ) {}

  get payments(): Payment[] {
    return this.checkout().payments.filter((payment) => progress.isUnderWay(payment, this.outbox.own));
  }

  get payment(): Payment | null {
    return latest(this.payments);
  }

  /** The transaction of this browser that no node has seen yet. */
  get awaited(): OwnTransaction | null {
    return progress.awaited(this.checkout().payments, this.outbox.own);
  }

  get batch(): Batch | null {
    return this.outbox.batches.find(isAwaited) ?? null;
  }

  /** Whether this browser sent or signed something that no payment shows yet. */
  get isExpected(): boolean {
    return this.awaited !== null || this.batch !== null || this.outbox.unsubmitted !== undefined;
  }

  get isAny(): boolean {
    return this.payment !== null || this.isExpected;
  }

  /** The state of the request, as the page shows it. */
  get state(): string {
    const { status } = this.checkout();
    if (status === "completed") return status;
    if (this.isAny) return "processing";
    if (status !== "active") return status;
    return isZero(paidSoFar(this.checkout())) ? "active" : "partly_paid";
  }

  /** The time estimate of the payment under way, if this browser sent or signed it. */
  get estimate(): Estimate | null {
    const { payment, outbox } = this;
    const mine = payment
      ? (progress.ownOf(payment, outbox.own) ?? outbox.signedFor(payment.id))
      : (this.awaited ?? outbox.unsubmitted);
    return estimateOf(mine ?? null);
  }

  get warning(): progress.PaymentWarning | null {
    const isKnownHere = ({ id, transaction_hash: hash }: Payment): boolean =>
      this.outbox.knows(hash ?? "") || this.outbox.signedFor(id) !== null;
    return progress.findWarning(this.checkout().payments, this.outbox.own, isKnownHere);
  }

  /** The warning about a transfer that nothing links to the request. The sender can still link it by a signature. */
  get unbound(): progress.PaymentWarning | null {
    const { warning } = this;
    return warning?.kind === "unpaid" && progress.failureOf(warning.payment) === "transaction_not_bound" ? warning : null;
  }

  /** Whether the warning is about a failed transaction that a wallet of this browser sent or signed. */
  isOwnFailure({ payment, kind }: progress.PaymentWarning): boolean {
    const isFailed = kind === "unpaid" || payment.status === "failed";
    const isOwn = this.outbox.isOwn(payment.transaction_hash ?? "") || this.outbox.signedFor(payment.id) !== null;
    return isFailed && kind !== "cancelled" && isOwn;
  }
}
