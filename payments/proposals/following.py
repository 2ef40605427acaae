"""Continue the verification with the transaction that executed a proposal."""

from datetime import datetime

from django.db.models import Q

from config.due_work.leases import FREE
from payments.models import FailureCode, Lookup, Payment, PaymentRequest
from payments.requests.new_payments import create_payment
from payments.requests.transitions import move_payment, note
from payments.verification.outcomes import Failed, failed_columns, failed_lookup
from payments.verification.reopening import is_given_up, reopen
from payments.verification.replacements import add_replaced, continuing_columns

_EXECUTED = "The account executed it in another payment's transaction."
_ACTOR = "verification"


def follow_execution(payment: Payment, request: PaymentRequest, transaction_hash: str, now: datetime) -> None:
    """Verify the transaction that executed the payment's proposal. The request and the payment must be locked.

    If another payment of the request already has that transaction, this payment fails without an event, and the other
    payment takes over its hashes.
    """
    own = Payment.objects.filter(request=request, chain=payment.chain_id, transaction_hash=transaction_hash)
    same = own.exclude(pk=payment.pk).first()
    if same is None:
        columns = continuing_columns(payment, transaction_hash)
        # The signers may have taken days, so the time limit of the verification starts now.
        Payment.objects.filter(pk=payment.pk).update(
            **columns, status_detail="Executed; checking the network.", verifying_since=now
        )
        is_other = transaction_hash != payment.transaction_hash
        first_block = {"first_block_time": None, "first_block_number": None} if is_other else {}
        Lookup.objects.filter(of_payment=payment).update(
            transaction_hash=transaction_hash,
            **first_block,
            seen_at=now,
            next_check_at=now,
            proposal_check_at=None,
            **FREE,
        )
        note(payment, f"executed by {transaction_hash}", actor=_ACTOR)
        return
    failed = Failed(payment, FailureCode.TRANSACTION_REPLACED, _EXECUTED)
    reason = f"executed by {transaction_hash}, which is {same.pk}"
    if move_payment(
        payment, Payment.Status.FAILED, actor=_ACTOR, reason=reason, **failed_columns(failed, now)
    ):
        Lookup.objects.filter(of_payment=payment).update(**failed_lookup(failed, now), proposal_check_at=None)
        add_replaced(same, payment)
        if is_given_up(same):
            reopen(same, actor=_ACTOR, reason=f"executed the proposal of {payment.pk}")


def verify_beside(payment: Payment, request: PaymentRequest, transaction_hash: str, now: datetime) -> None:
    """Create and verify another payment for this transaction, which one of the locked payment's accounts executed."""
    own = Payment.objects.filter(request=request, chain=payment.chain_id)
    known = Q(transaction_hash=transaction_hash) | Q(replaced_hashes__contains=[transaction_hash])
    if not own.filter(known).exists():
        create_payment(
            request,
            payment.chain,
            transaction_hash,
            actor=_ACTOR,
            seen_at=now,
            submitted_publicly=False,
            status_detail="Executed; checking the network.",
        )


def drop_account(payment: Payment, account: str) -> None:
    """Stop the search for the locked payment's proposal in this account. If `account` is "", stop the search in all
    accounts.

    An open payment keeps its last account.
    """
    lookup = Lookup.objects.get(of_payment=payment)
    left = [each for each in lookup.proposal_accounts if account and each != account]
    if left:
        columns = {"proposal_account": left[0], "further_accounts": left[1:]}
        Lookup.objects.filter(pk=lookup.pk).update(**columns)
        note(payment, f"{account} executed the proposal, or failed to", actor=_ACTOR)
    elif not payment.is_open:
        Lookup.objects.filter(pk=lookup.pk).update(proposal_check_at=None, **FREE)
