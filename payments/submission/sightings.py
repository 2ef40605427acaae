"""Look up a transaction before it is stored as a payment."""

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chains.client import ChainClient, ChainError, TransactionFacts
from chains.families import get_client
from chains.models import Chain
from payments.evaluation.arrivals import coins_to
from payments.evaluation.binding import BoundBy
from payments.evaluation.proof_windows import CLOCK_ALLOWANCE
from payments.evaluation.verdicts import Finality, NotYet, Paid, SwapStarted
from payments.models import Lookup, Payment, PaymentRequest, Route
from payments.verification.attempts import verdict_of
from payments.verification.evidence import ChainCheck, collect_evidence
from payments.verification.quote_evidence import pinned_contracts, quotes_of

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]


@dataclass(frozen=True)
class Sighting:
    """The result of looking up a transaction.

    - `is_answered` is False if no node gave a usable response.
    - `is_bound`: the transaction is bound to the request. If it is not mined, its own content must bind it.
    - `is_older`: it was mined before the request was created.
    - `starts_swap`: it is mined, and starts a swap of the request.
    - `coins`: if it is mined, the native coin that it sent to the request's deposit address.
    """

    facts: TransactionFacts | None = None
    is_answered: bool = True
    is_bound: bool = False
    is_older: bool = False
    starts_swap: bool = False
    coins: int = 0

    @property
    def is_known(self) -> bool:
        return self.facts is not None

    @property
    def is_mined(self) -> bool:
        return self.facts is not None and self.facts.block is not None

    def holding_columns(self, now: datetime) -> dict[str, Any]:
        """Return the columns that let a bound payment keep its request open until the payment's first check."""
        if self.is_mined:
            return {"is_in_flight": True}
        return {"is_bound_unmined": True, "held_from": now}


UNANSWERED = Sighting(is_answered=False)


def proposing_account(route: Route, chain: Chain, *, client: Client) -> str:
    """Return the route's wallet if it may return a proposal's id instead of a hash, else ""."""
    if route.chain_id != chain.pk:
        return ""
    try:
        is_possible = client(chain).may_return_proposals(route.wallet_address)
    except ChainError as error:
        logger.warning("the code of a wallet could not be read on %s: %s", chain.name, error)
        return ""
    return route.wallet_address if is_possible else ""


def sight(
    request: PaymentRequest,
    chain: Chain,
    transaction_hash: str,
    now: datetime,
    *,
    client: Client = get_client,
) -> Sighting:
    """Look up the transaction and evaluate it as a payment of the request. Nothing is stored."""
    payment = Payment(request=request, chain=chain, transaction_hash=transaction_hash)
    lookup = Lookup(of_payment=payment, chain=chain, transaction_hash=transaction_hash)
    finality = Finality.parse(chain.confirmations)
    try:
        snapshot = client(chain).look_up(
            [transaction_hash], with_finality=False, mentioning=pinned_contracts(chain)
        )
    except ChainError as error:
        logger.warning("a submitted transaction could not be looked up on %s: %s", chain.name, error)
        return UNANSWERED
    if transaction_hash in snapshot.contradicted:
        return UNANSWERED
    facts = snapshot.transactions.get(transaction_hash)
    if facts is None:
        return Sighting()
    evaluation_input = collect_evidence([lookup], chain, snapshot, quotes_of({request.pk}, chain))[payment.pk]
    verdict = verdict_of(lookup, evaluation_input, ChainCheck(uuid.uuid4(), snapshot, finality, now))
    is_waiting_bound = isinstance(verdict, NotYet) and verdict.bound is not None and verdict.likely is None
    is_at_address = (
        isinstance(verdict, NotYet) and verdict.bound is not None and verdict.bound.by == BoundBy.ADDRESS
    )
    coins = (
        coins_to(evaluation_input.terms.evidence.coin_address, facts) if facts.block and is_at_address else ()
    )
    is_older = facts.block is not None and facts.block.time < request.created_at - CLOCK_ALLOWANCE
    return Sighting(
        facts,
        is_bound=isinstance(verdict, Paid | SwapStarted) or is_waiting_bound,
        is_older=is_older,
        starts_swap=isinstance(verdict, SwapStarted),
        coins=sum(transfer.amount for transfer in coins),
    )
