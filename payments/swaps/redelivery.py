"""Follow a completed swap whose delivery was reorganised away. The swap's provider may deliver again in
another transaction.

The payment stays completed and `reorged` until our nodes confirm the new delivery. The new delivery then replaces
the old one, and `reorged` is cleared.
"""

import copy
import logging
import uuid
from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from chains.client import ChainClient, ChainError
from chains.models import Chain
from config.due_work.leases import FREE
from payments.evaluation.verdicts import Finality
from payments.models import Lookup, Payment, Swap, delivery_of
from payments.requests.lifecycle import lock_request
from payments.swaps.status import Delivered
from payments.verification.columns import block_columns
from payments.verification.finality import PAUSE, clear_reorged, next_check_of_reorged
from payments.verification.quote_evidence import pinned_contracts
from payments.verification.recrediting import paying_transfers, replace_credit

logger = logging.getLogger(__name__)


def follow_again(
    payment: Payment,
    delivered: Delivered | None,
    claim_id: uuid.UUID,
    client: Callable[[Chain], ChainClient],
    now: datetime,
) -> None:
    """Credit the new delivery, if the provider reports one and our nodes confirm it. Otherwise poll again later."""
    lookup = delivery_of(payment)
    if lookup is None:  # a swap on one chain, which the customer's own transaction delivers
        _held(payment, claim_id).update(next_poll_at=None, **FREE)
        return
    is_new = delivered is not None and delivered.transaction_hash != lookup.transaction_hash
    if delivered is not None and is_new and _credit(payment, lookup, delivered, claim_id, client, now):
        return
    next_poll = next_check_of_reorged(payment, now) if payment.reorged else None
    _held(payment, claim_id).update(next_poll_at=next_poll, **FREE)


def _credit(
    payment: Payment,
    lookup: Lookup,
    delivered: Delivered,
    claim_id: uuid.UUID,
    client: Callable[[Chain], ChainClient],
    now: datetime,
) -> bool:
    chain = lookup.chain
    finality = Finality.parse(chain.confirmations)
    hash_ = delivered.transaction_hash
    again = copy.copy(lookup)
    again.transaction_hash = hash_
    # The first block is the removed transaction's.
    again.first_block_time = again.first_block_number = None
    payment.swap.reported_amount = delivered.amount
    try:
        snapshot = client(chain).look_up(
            [hash_], with_finality=finality.tag is not None, mentioning=pinned_contracts(chain)
        )
    except ChainError as error:
        logger.warning("a delivery could not be looked up on %s: %s", chain.name, error)
        return False
    if hash_ in snapshot.contradicted:
        return False
    facts = snapshot.transactions.get(hash_)
    transfers = paying_transfers(again, snapshot, finality)
    if not transfers or facts is None or facts.block is None:
        return False
    with transaction.atomic():
        request = lock_request(payment.request_id)
        current = Payment.objects.get(pk=payment.pk)
        if not (current.reorged and _held(payment, claim_id).select_for_update(no_key=True).exists()):
            return False
        # If the first delivery is mined again, or this one pays less, the merchant can accept it.
        if not replace_credit(request, again, transfers):
            return False
        Lookup.objects.filter(pk=lookup.pk).update(
            transaction_hash=hash_,
            first_block_time=facts.block.time,
            first_block_number=facts.block.number,
            finality_check_at=now + PAUSE,
            **block_columns(facts.block),
            **FREE,
        )
        Swap.objects.filter(pk=payment.pk).update(next_poll_at=None, reported_amount=delivered.amount, **FREE)
        current.refresh_from_db()
        clear_reorged(current)
    logger.warning("payment %s: its swap was delivered again, by %s", payment.pk, hash_)
    return True


def _held(payment: Payment, claim_id: uuid.UUID) -> QuerySet[Swap]:
    return Swap.objects.filter(pk=payment.pk, claim_id=claim_id)
