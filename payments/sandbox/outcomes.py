"""The names of the outcomes, and the ids that each outcome accepts."""

from enum import StrEnum


class Outcome(StrEnum):
    PAID = "paid"
    UNDERPAID = "underpaid"
    OVERPAID = "overpaid"
    PAID_LATE = "paid_late"
    PENDING = "pending"
    PROCESSING = "processing"
    SPED_UP = "sped_up"
    FAILED = "failed"
    NOT_BOUND = "not_bound"
    AMBIGUOUS = "ambiguous"
    NOT_VERIFIABLE = "not_verifiable"
    NOT_FOUND = "not_found"
    TIMED_OUT = "timed_out"
    REPLACED = "replaced"
    EXPIRED = "expired"
    REORGED = "reorged"
    RESTORED = "restored"
    SWAP_COMPLETED = "swap_completed"
    SWAP_PARTIAL = "swap_partial"
    SWAP_FAILED = "swap_failed"
    BRIDGE_REFUNDED = "bridge_refunded"
    REFUNDED = "refunded"
    REFUND_REQUIRES_ADDRESS = "refund_requires_address"
    REFUND_CLAIMED = "refund_claimed"
    REFUND_READY = "refund_ready"
    REFUND_PROCESSING = "refund_processing"
    REFUND_COMPLETED = "refund_completed"
    REFUND_FAILED = "refund_failed"
    REFUND_CANCELLED = "refund_cancelled"


# The outcomes that create a refund. `payment_id` is the completed payment to refund.
CREATES_REFUND = frozenset({Outcome.REFUNDED, Outcome.REFUND_REQUIRES_ADDRESS, Outcome.REFUND_READY})
# The outcomes that change a refund. `refund_id` is optional: the refund to change.
CHANGES_REFUND = frozenset(
    {
        Outcome.REFUND_CLAIMED,
        Outcome.REFUND_PROCESSING,
        Outcome.REFUND_COMPLETED,
        Outcome.REFUND_FAILED,
        Outcome.REFUND_CANCELLED,
    }
)
# The outcomes that decide a payment. `payment_id` is optional: the payment to decide. All other outcomes concern the
# request or a new payment.
DECIDES_PAYMENT = (
    frozenset(Outcome)
    - CREATES_REFUND
    - CHANGES_REFUND
    - {Outcome.PENDING, Outcome.PAID_LATE, Outcome.EXPIRED}
)
