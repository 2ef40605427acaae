"""Store submitted transaction hashes, and reopen failed payments."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from chains.families import get_client
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.coins.awaiting import make_look_due
from payments.coins.recording import attach, difference_with
from payments.models import ConsumedTransfer, FailureCode, Lookup, Payment, PaymentRequest, Route
from payments.models.payment import MAX_RETRIES
from payments.requests.lifecycle import lock_request
from payments.requests.new_payments import AWAITED, create_payment
from payments.sponsoring.uses import may_use_authorization, payment_by_authorization
from payments.submission.caps import (
    has_room,
    has_room_for_proposal,
    may_reopen,
    require_room,
    require_room_for_proposal,
)
from payments.submission.proposals import add_account, may_add_account
from payments.submission.sightings import Client, Sighting, proposing_account, sight
from payments.submission.used_transactions import has_deposits, is_credited, needs_lookup, require_unused
from payments.verification.columns import NO_PROPOSAL, UNKNOWN, block_columns
from payments.verification.reopening import is_given_up, reopen
from payments.verification.replacements import (
    continue_lookup,
    continued_by,
    continuing_columns,
    follow_submitted,
    replaceable,
)

SUBMITTED = "Submitted; checking the network."


class _SightingNeeded(Exception):
    """The transaction must be looked up before it is stored or rejected.

    With `is_extra`, the lookup may end in a rejection that stores nothing. A client could repeat it without limit.
    """

    def __init__(self, *, is_extra: bool) -> None:
        super().__init__()
        self.is_extra = is_extra


def submit_hash(
    request: PaymentRequest,
    *,
    chain: Chain,
    transaction_hash: str,
    route_id: str | None = None,
    actor: str,
    submitter: str = "",
    client: Client = get_client,
    before_extra_lookup: Callable[[], None] = lambda: None,
) -> tuple[Payment, bool]:
    """Submit a hash for a customer. Return its payment, and whether the payment is new. The hash must be canonical.

    - For a known hash, and for a hash that was replaced, the existing payment is returned.
    - A failed payment is reopened once if its failure can be retried. If nothing linked it to the request, it can
      also be reopened after each new proof by the paying wallet.
    - If the transaction speeds up one of the request's payments, that payment continues with it.
    - If no node knows the hash, and the route's wallet may be a contract account, the hash is treated as the id of a
      proposal. The payment waits for the proposal's execution (`payments.proposals`).
    - Native coin that was sent to the deposit address has a payment of its own, which gets the hash
      (`payments.coins`).
    - Expired and cancelled requests accept hashes too. Verification decides if the transaction pays.

    `submitter` is a digest of the client's address. Each submitter may have a limited number of open payments.
    `before_extra_lookup` is called before a lookup that may store nothing. The callback may raise.

    Nodes are queried outside database transactions. A query is made only if there is a route, a limit is reached, a
    payment may be sped up, or the transaction was credited in part.

    Raises ApiError if all money of the transaction is already credited, or if a limit of `payments.submission.caps`
    is exceeded.
    """
    sighting: Sighting | None = None
    route = Route.objects.filter(pk=route_id, request=request).first() if route_id else None
    account = ""
    if route is not None and _may_be_proposal(request, chain, transaction_hash, route.wallet_address):
        # If the hash is rejected below, nothing is stored, and a client could repeat this without limit.
        if not (has_room(request, submitter) and has_room_for_proposal(request)):
            before_extra_lookup()
        account = proposing_account(route, chain, client=client)
    if account:
        sighting = sight(request, chain, transaction_hash, timezone.now(), client=client)
    columns = {"route": route, "submitter": submitter}
    while True:
        try:
            return _store(request, chain, transaction_hash, actor, sighting, account, columns)
        except _SightingNeeded as needed:
            if needed.is_extra:
                before_extra_lookup()
            sighting = sight(request, chain, transaction_hash, timezone.now(), client=client)


def sight_for_merchant(
    request: PaymentRequest, chain: Chain, transaction_hash: str, *, client: Client = get_client
) -> Sighting | None:
    """Look up the transaction if the result may change what is stored. Otherwise return None.

    The transaction is looked up in three cases. First, it may speed up a payment, be a sweep, or use a signature.
    Second, it was credited, but may have transfers that belong to this request. Third, the hash was treated as a
    proposal's id, but may be a transaction's hash.
    """
    is_doubtful = _may_be_no_proposal(request, chain, transaction_hash)
    if not is_doubtful and _existing_payment(request, chain, transaction_hash):
        return None
    is_doubtful = is_doubtful or needs_lookup(request, chain, transaction_hash)
    is_doubtful = is_doubtful or has_deposits(request) or may_use_authorization(request)
    if not (is_doubtful or replaceable(request, chain).exists()):
        return None
    return sight(request, chain, transaction_hash, timezone.now(), client=client)


def submit_for_merchant(
    request: PaymentRequest,
    *,
    chain: Chain,
    transaction_hash: str,
    actor: str,
    sighting: Sighting | None = None,
) -> tuple[Payment, bool]:
    """Submit a hash for the merchant, without limits. Return its payment, and whether the payment is new.

    The hash must be canonical. If the payment exists and can be retried, this uses one of its retries. `sighting`
    is the result of `sight_for_merchant`; no node is queried here. Raises ApiError `transaction_already_used`.
    """
    with transaction.atomic():
        locked = lock_request(request.pk)
        is_transaction = sighting is not None and sighting.is_known
        existing = _existing_payment(locked, chain, transaction_hash, is_transaction=is_transaction)
        if existing is not None:
            if is_transaction and _verify_as_hash(existing, actor):
                return existing, False
            if existing.is_retryable and existing.retries < MAX_RETRIES:
                reopen(
                    existing, actor=actor, reason="submitted by the merchant", retries=existing.retries + 1
                )
            return existing, False
        if (attached := _attached(locked, sighting, actor)) is not None:
            return attached, False
        require_unused(locked, chain, transaction_hash, sighting)
        continued = _continued(locked, chain, sighting, actor)
        if continued is not None:
            return continued, False
        return _create(locked, chain, transaction_hash, sighting, actor, submitted_publicly=False), True


def _store(
    request: PaymentRequest,
    chain: Chain,
    transaction_hash: str,
    actor: str,
    sighting: Sighting | None,
    account: str,
    columns: dict[str, Any],
) -> tuple[Payment, bool]:
    submitter = columns["submitter"]
    with transaction.atomic():
        locked = lock_request(request.pk)
        is_transaction = sighting is not None and sighting.is_known
        existing = _existing_payment(locked, chain, transaction_hash, is_transaction=is_transaction)
        if existing is not None:
            if sighting is None and _may_be_no_proposal(locked, chain, transaction_hash):
                raise _SightingNeeded(is_extra=True)
            if is_transaction and _verify_as_hash(existing, actor):
                return existing, False
            if account and not is_transaction:
                added = add_account(
                    existing, locked, transaction_hash, account, actor=actor, submitter=submitter
                )
                if added is not None:
                    return added
            _reopen_by_submission(existing, actor, submitter)
            return existing, False
        if sighting is None and may_use_authorization(locked):
            raise _SightingNeeded(is_extra=False)
        if sighting is None and (
            needs_lookup(locked, chain, transaction_hash) or _has_coin_address(locked, chain)
        ):
            raise _SightingNeeded(is_extra=True)
        if (attached := _attached(locked, sighting, actor)) is not None:
            return attached, False
        require_unused(locked, chain, transaction_hash, sighting)
        if sighting is None:
            is_beyond_caps = not has_room(locked, submitter)
            if is_beyond_caps or replaceable(locked, chain).exists():
                raise _SightingNeeded(is_extra=is_beyond_caps)
        else:
            continued = _continued(locked, chain, sighting, actor)
            if continued is not None:
                return continued, False
            if account and not sighting.is_known:
                # If no node responded, the search for the proposal finds out later whether the hash is a
                # transaction's.
                if sighting.is_answered:
                    require_room_for_proposal(locked)
                if has_room_for_proposal(locked):
                    columns = {**columns, "proposed_by": account, "status_detail": AWAITED}
                    return create_payment(locked, chain, transaction_hash, actor=actor, **columns), True
            require_room(locked, submitter, sighting)
        return _create(locked, chain, transaction_hash, sighting, actor, **columns), True


def _existing_payment(
    request: PaymentRequest, chain: Chain, transaction_hash: str, *, is_transaction: bool = False
) -> Payment | None:
    """Return the request's payment that had this hash before a speed-up, or else the payment that has it now.

    `is_transaction` means that a node knows the transaction, so the hash is not a proposal's id.
    """
    own = Payment.objects.filter(request=request, chain=chain)
    current = own.filter(transaction_hash=transaction_hash)
    replaced = own.filter(replaced_hashes__contains=[transaction_hash]).first()
    if replaced is not None and own.filter(lookup__proposal_id=transaction_hash).exists():
        current_is_used = Q(lookup__proposal_id="") | Q(lookup__proposal_check_at__isnull=False)
        is_transaction = is_transaction or current.filter(current_is_used).exists()
        replaced = None if is_transaction else replaced
    return replaced or current.first() or _grouped_payment(own, chain, transaction_hash)


def _grouped_payment(own: QuerySet[Payment], chain: Chain, transaction_hash: str) -> Payment | None:
    """If this transaction was credited in a group of small arrivals, return the group's payment."""
    credited = ConsumedTransfer.objects.filter(chain=chain, transaction_hash=transaction_hash)
    by_address = credited.filter(payment__bound_by=Payment.BoundBy.ADDRESS)
    return own.filter(pk__in=by_address.values("payment")).first()


def _may_be_proposal(request: PaymentRequest, chain: Chain, transaction_hash: str, account: str) -> bool:
    """Whether this hash can be submitted as a proposal's id, with this account.

    The hash can't be submitted if a payment was credited with it, or if a payment of the request already
    searches for the hash in this account.
    """
    existing = _existing_payment(request, chain, transaction_hash)
    is_new = existing is None or may_add_account(existing, transaction_hash, account)
    return is_new and not is_credited(chain, transaction_hash)


def _may_be_no_proposal(request: PaymentRequest, chain: Chain, transaction_hash: str) -> bool:
    """Whether a hash was treated as a proposal's id, and may still be a transaction's hash.

    Nodes may not have known the transaction then, and any account can log that it executed an id, or that the
    execution failed.
    """
    own = Payment.objects.filter(request=request, chain=chain)
    ended = Q(status=Payment.Status.FAILED) | ~Q(transaction_hash=transaction_hash)
    is_hash = Q(transaction_hash=transaction_hash, lookup__proposal_id="")
    return (
        own.filter(ended, lookup__proposal_id=transaction_hash).exists() and not own.filter(is_hash).exists()
    )


def _verify_as_hash(payment: Payment, actor: str) -> bool:
    """If a payment failed as a proposal, verify it as a transaction. Return False for other payments."""
    hash_ = payment.transaction_hash
    if payment.status != Payment.Status.FAILED or payment.lookup.proposal_id != hash_:
        return False
    columns = {"transaction_hash": hash_, **NO_PROPOSAL, **UNKNOWN}
    Lookup.objects.filter(of_payment=payment).update(**columns)
    reopen(payment, actor=actor, reason="a node knows it as a transaction")
    return True


def _has_coin_address(request: PaymentRequest, chain: Chain) -> bool:
    """Whether the request has a deposit address for native coin on this chain."""
    is_shown = request.deposit_address is not None and request.chain_id == chain.pk
    return is_shown and request.token.contract_address == ""


def _attached(request: PaymentRequest, sighting: Sighting | None, actor: str) -> Payment | None:
    """Store this transaction in the payment that it belongs to, and return the payment. The request must be locked.

    It belongs to a payment by authorization whose signature it used, or to the payment for the coin that it sent to the
    deposit address. Return None if it did neither, or if the balance doesn't show the coin yet.
    """
    if sighting is None or sighting.facts is None:
        return None
    signed = payment_by_authorization(request, sighting.facts)
    if signed is not None or not sighting.coins:
        return signed
    payment = difference_with(request, sighting.facts)
    if payment is not None:
        attach(payment, sighting.facts, actor=actor)
    return payment


def _continued(
    request: PaymentRequest, chain: Chain, sighting: Sighting | None, actor: str
) -> Payment | None:
    """If this transaction speeds up a payment of the locked request, continue and return that payment."""
    facts = sighting.facts if sighting else None
    payment = continued_by(replaceable(request, chain), facts)
    if payment is None or facts is None:
        return None
    if payment.is_open:
        follow_submitted(payment, facts.hash, timezone.now(), actor=actor)
    else:
        reason = f"replaced by {facts.hash} with the same effect"
        reopen(payment, actor=actor, reason=reason, **continuing_columns(payment, facts.hash))
        continue_lookup(payment, facts.hash)
    return payment


def _create(
    request: PaymentRequest,
    chain: Chain,
    transaction_hash: str,
    sighting: Sighting | None,
    actor: str,
    **columns: Any,
) -> Payment:
    likely = FailureCode.TRANSACTION_TOO_OLD if sighting and sighting.is_older else ""
    block = sighting.facts.block if sighting and sighting.facts and sighting.coins else None
    if block is not None:
        # This payment is credited once the balance of the address shows the coin.
        columns |= {
            "amount": sighting.coins if sighting else None,
            "is_in_flight": True,
            "bound_by": Payment.BoundBy.ADDRESS,
            "looked_up": block_columns(block),
        }
        likely = ""
        make_look_due([request.pk], timezone.now())
    elif sighting is not None and sighting.is_bound:
        columns |= sighting.holding_columns(timezone.now())
    return create_payment(
        request,
        chain,
        transaction_hash,
        actor=actor,
        seen_at=timezone.now() if sighting and sighting.is_known else None,
        status_detail=SUBMITTED,
        likely_failure=likely,
        **columns,
    )


def retry_payment(payment: Payment, *, actor: str) -> Payment:
    """Reopen the failed payment and return it. The payment's lookups are counted from 0 again. Raises ApiError if
    it can't be retried.

    The merchant calls this, so the limits on public submissions don't apply.
    """
    with transaction.atomic():
        lock_request(payment.request_id)
        payment = Payment.objects.select_related("request").get(pk=payment.pk)
        if not payment.is_retryable:
            reason = payment.failure_message or f"it is {payment.status}"
            raise ApiError(ErrorCode.PAYMENT_NOT_RETRYABLE, f"This payment can't be retried: {reason}")
        if payment.retries >= MAX_RETRIES:
            message = f"This payment has already been retried {MAX_RETRIES} times."
            raise ApiError(ErrorCode.RETRY_LIMIT_REACHED, message)
        reopen(payment, actor=actor, reason="retried", retries=payment.retries + 1)
    return payment


def record_discovered(
    request: PaymentRequest,
    *,
    chain: Chain,
    transaction_hash: str,
    route: Route | None = None,
    found_by: str = "its reference",
    is_doubtful: bool = False,
) -> None:
    """Store a payment that discovery found. The limits on submissions don't count such a payment.

    `route` belongs to the quote whose id the transaction logs. `found_by` is text for people. `is_doubtful` means that
    the transaction could not be read. Anyone can send such a transaction, so it counts like a publicly submitted one.
    """
    with transaction.atomic():
        locked = lock_request(request.pk)
        payment = _existing_payment(locked, chain, transaction_hash, is_transaction=True)
        if payment is None:
            create_payment(
                locked,
                chain,
                transaction_hash,
                actor="discovery",
                seen_at=timezone.now(),
                submitted_publicly=is_doubtful,
                route=route,
                status_detail=f"Found on the network by {found_by}.",
            )
        elif not _verify_as_hash(payment, "discovery") and is_given_up(payment):
            reopen(payment, actor="discovery", reason="found on the network")


def _reopen_by_submission(payment: Payment, actor: str, submitter: str) -> None:
    """Reopen a failed payment whose hash was submitted again. Allowed once, and after each new wallet proof."""
    if payment.status != Payment.Status.FAILED or not may_reopen(payment.request, submitter):
        return
    may_once = payment.is_retryable and not payment.reopened_publicly and payment.retries < MAX_RETRIES
    is_proposal = payment.lookup.proposal_id == payment.transaction_hash
    if is_proposal and not has_room_for_proposal(payment.request):
        return
    if _was_proved_since(payment):
        reopen(payment, actor=actor, reason="the payer proved the wallet", submitter=submitter)
    elif may_once:
        columns = {"retries": payment.retries + 1, "reopened_publicly": True, "submitter": submitter}
        reopen(payment, actor=actor, reason="submitted again", **columns)


def _was_proved_since(payment: Payment) -> bool:
    """Whether the payment failed as unbound, and a wallet proof was given later."""
    is_unbound = payment.failure_code in (FailureCode.TRANSACTION_NOT_BOUND, FailureCode.NOT_VERIFIABLE)
    if not is_unbound or payment.chain_id != payment.request.chain_id or payment.is_simulated:
        return False
    return payment.request.payer_proofs.filter(verified_at__gte=payment.failed_at).exists()
