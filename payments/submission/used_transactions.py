"""Determine whether all money that a transaction paid to a request's recipient is already credited."""

from collections import Counter

from django.db.models import QuerySet

from chains.client import TransactionFacts, Transfer
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.evaluation.messages import SWEPT
from payments.models import ConsumedTransfer, DepositAddress, PaymentRequest
from payments.submission.sightings import Sighting
from payments.verification.quote_evidence import quotes_of


def is_credited(chain: Chain, transaction_hash: str) -> bool:
    """Whether a transfer of this transaction was credited."""
    return _credited(chain, transaction_hash).exists()


def needs_lookup(request: PaymentRequest, chain: Chain, transaction_hash: str) -> bool:
    """Whether this transaction is credited, but may have more transfers for the request, so that it must be looked
    up.

    A lookup is needed if the transaction also paid other recipients or requests, or may have started a swap of this
    request.
    """
    credited = _credited(chain, transaction_hash)
    return credited.exists() and (
        credited.filter(payment__carries_others=True).exists() or bool(quotes_of({request.pk}, chain))
    )


def require_unused(
    request: PaymentRequest, chain: Chain, transaction_hash: str, sighting: Sighting | None
) -> None:
    """Raise ApiError `transaction_already_used` if all money that the transaction paid to the recipient is credited.

    A transaction may pay several requests, and may be submitted for each of them. If no node responded, the
    transaction is accepted here: verification decides later, and credits each transfer only once.
    """
    if sighting is not None and sighting.facts is not None and _is_sweep(request, chain, sighting.facts):
        raise ApiError(ErrorCode.TRANSACTION_ALREADY_USED, SWEPT)
    credited = _credited(chain, transaction_hash)
    if not credited.exists():
        return
    if needs_lookup(request, chain, transaction_hash) and _may_be_left(request, chain, sighting):
        return
    message = "All that this transaction paid to this recipient has already been credited."
    raise ApiError(ErrorCode.TRANSACTION_ALREADY_USED, message)


def has_deposits(request: PaymentRequest) -> bool:
    """Whether the recipient has deposit addresses. A transaction to the recipient may then be a sweep."""
    shown = DepositAddress.objects.filter(chain=request.chain_id, recipient_address=request.recipient_address)
    return shown.exists()


def _is_sweep(request: PaymentRequest, chain: Chain, facts: TransactionFacts) -> bool:
    """Whether all money that the mined transaction paid to the request came from deposit addresses."""
    own = {request.recipient_address, request.deposit_address}
    senders = {t.sender for t in facts.transfers if t.recipient in own and t.amount > 0}
    if not senders or not facts.is_complete or request.chain_id != chain.pk:
        return False
    return DepositAddress.objects.filter(chain=chain, address__in=senders).count() == len(senders)


def _credited(chain: Chain, transaction_hash: str) -> QuerySet[ConsumedTransfer]:
    return ConsumedTransfer.objects.filter(chain=chain, transaction_hash=transaction_hash)


def _may_be_left(request: PaymentRequest, chain: Chain, sighting: Sighting | None) -> bool:
    facts = sighting.facts if sighting else None
    if sighting is None or facts is None or facts.block is None or sighting.starts_swap:
        return True
    if not (facts.is_readable and facts.is_complete):
        return True
    own = {request.recipient_address, request.deposit_address}
    return any(transfer.recipient in own for transfer in _left_of(facts, chain))


def _left_of(facts: TransactionFacts, chain: Chain) -> list[Transfer]:
    """Return the transaction's transfers that are not credited yet."""
    slots: set[str] = set()
    spent: Counter[str] = Counter()
    for slot, account, amount in _credited(chain, facts.hash).values_list("slot", "account", "amount"):
        slots.add(slot)
        spent[account] += amount
    return [
        transfer
        for transfer in facts.transfers
        if transfer.amount > 0
        and transfer.sender != transfer.recipient
        and not slots & {transfer.slot, f"{transfer.token}:{transfer.recipient}"}
        and (transfer.gain is None or transfer.gain > spent[transfer.account])
    ]
