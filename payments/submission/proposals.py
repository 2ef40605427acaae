"""Submit the id of a proposal. The wallet of a contract account may return such an id instead of a transaction
hash.

The id doesn't contain the account. So an attacker who sees the id can submit it before the customer's wallet does:
with another account, or as if it were a transaction hash. Therefore each id is searched for with up to three
accounts.

The first account is never replaced. A fourth account can replace the second or the third account. This requires that
a transaction of the request was built for the fourth account, and none for the replaced account. A transaction can be
built only for an account that has the money.
"""

from django.utils import timezone

from config.due_work.leases import FREE
from config.due_work.listening import Channel, notify
from payments.models import FailureCode, Lookup, Payment, PaymentRequest, Route
from payments.requests.new_payments import AWAITED, create_payment
from payments.requests.transitions import move_payment, note
from payments.submission.caps import has_room_for_proposal
from payments.verification.columns import NOT_HOLDING
from payments.verification.reopening import reopen

MAX_ACCOUNTS = 3


def may_add_account(payment: Payment, transaction_hash: str, account: str) -> bool:
    """Whether the search for the payment's id can include this account too."""
    lookup = payment.lookup
    if lookup.proposal_id != transaction_hash:
        # The id was submitted as a hash. If no node has seen a transaction with this hash, the id may be a
        # proposal's.
        is_missing = payment.is_open or payment.failure_code == FailureCode.TRANSACTION_NOT_FOUND
        return payment.transaction_hash == transaction_hash and is_missing and not lookup.is_seen
    if payment.transaction_hash != transaction_hash:
        return account not in lookup.proposal_accounts
    is_decided = payment.status == Payment.Status.COMPLETED
    return not is_decided and _with_account(lookup, account) is not None


def add_account(
    payment: Payment,
    request: PaymentRequest,
    transaction_hash: str,
    account: str,
    *,
    actor: str,
    submitter: str,
) -> tuple[Payment, bool] | None:
    """Search for the payment's proposal with this account too. The request must be locked.

    Return the payment, and whether it is new. Return None if the id can't have another account, or if the request
    can't have another proposal.
    """
    lookup = payment.lookup
    if not may_add_account(payment, transaction_hash, account):
        return None
    if not lookup.is_awaited and not has_room_for_proposal(request):
        return None
    if lookup.proposal_id == transaction_hash != payment.transaction_hash:
        # The payment continues with an execution that may be an attacker's. So this account gets a payment of its
        # own.
        created = create_payment(
            request,
            payment.chain,
            transaction_hash,
            actor=actor,
            proposed_by=account,
            submitter=submitter,
            status_detail=AWAITED,
        )
        return created, True
    accounts = _with_account(lookup, account) if lookup.proposal_id else [account]
    if accounts is None:
        return None
    first, *further = accounts
    now = timezone.now()
    Lookup.objects.filter(pk=lookup.pk).update(
        proposal_id=transaction_hash,
        proposal_account=first,
        further_accounts=further or None,
        proposal_block=None,
        next_check_at=None,
        proposal_check_at=now,
        **FREE,
    )
    note(payment, f"searched for as a proposal of {account}", actor=actor)
    if not payment.is_open:
        reopen(payment, actor=actor, reason="submitted with another account")
    Payment.objects.filter(pk=payment.pk, status=Payment.Status.PENDING).update(status_detail=AWAITED)
    if payment.status == Payment.Status.PROCESSING:
        columns = {"status_detail": AWAITED, **NOT_HOLDING}
        move_payment(payment, Payment.Status.PENDING, actor=actor, reason="it is a proposal", **columns)
    notify(Channel.PAYMENTS, str(payment.chain_id))
    payment.refresh_from_db()
    return payment, False


def _with_account(lookup: Lookup, account: str) -> list[str] | None:
    """Return the lookup's accounts with this one added. Return None if it is there already, or if there is no room."""
    accounts = lookup.proposal_accounts
    if account in accounts:
        return None
    if len(accounts) < MAX_ACCOUNTS:
        return [*accounts, account]
    built = set(
        Route.objects.filter(
            request=lookup.payment.request_id,
            chain=lookup.chain_id,
            wallet_address__in=[*accounts, account],
            built_at__isnull=False,
        ).values_list("wallet_address", flat=True)
    )
    unbuilt = [each for each in accounts if each not in built]
    if account not in built or not unbuilt:
        return None
    return [*(each for each in accounts if each != unbuilt[-1]), account]
