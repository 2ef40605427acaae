"""Requests and payments on the real chain. Tests run the engine by hand, with their own clock."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from chains.amounts import parse_amount
from chains.families import get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from payments.requests.creation import NewRequest, create_request
from payments.submission.hashes import submit_hash
from tests.chain import LocalChain
from tests.verifying import verify_due

ON_ITS_WAY: dict[str, Any] = {"seen_at": timezone.now(), "is_in_flight": True}
"""The columns of a payment that a node has seen and that is bound to its request."""


def make_request(
    merchant: Merchant,
    token: Token,
    amount: str,
    recipient: str,
    *,
    lifetime: timedelta = timedelta(hours=1),
    **more: Any,
) -> PaymentRequest:
    order = NewRequest(token, parse_amount(amount, token), recipient, lifetime, **more)
    return create_request(merchant, order, actor="test")


def unsigned(chain: LocalChain, request: PaymentRequest, amount: int | None = None) -> dict[str, Any]:
    """Return the transaction that pays the request, or `amount` base units of it, with its reference."""
    units = request.amount if amount is None else amount
    token, recipient = request.token.contract_address, request.recipient_address
    return chain.unsigned_transfer(token, recipient, units, tail=bytes(request.reference))


def pay(chain: LocalChain, request: PaymentRequest, amount: int | None = None) -> str:
    """Pay the request on the chain; return the hash."""
    return chain.send(unsigned(chain, request, amount))


def submit(request: PaymentRequest, transaction_hash: str, chain: Chain | None = None) -> Payment:
    payment, _ = submit_hash(
        request, chain=chain or request.chain, transaction_hash=transaction_hash, actor="checkout"
    )
    return payment


class Clock:
    """A clock that tests can advance."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def __call__(self) -> datetime:
        return timezone.now() + self._ahead

    def forward(self, **by: float) -> None:
        """Advance the clock."""
        self._ahead += timedelta(**by)


def look(clock: Callable[[], datetime] = timezone.now, client: Any = get_client) -> int:
    """Run the engine once."""
    return verify_due(client=client, now=clock)


def look_until_decided(payment: Payment, clock: Clock, looks: int = 50, client: Any = get_client) -> Payment:
    """Run the engine, advancing the clock to each next lookup, until the payment is completed or failed."""
    for _ in range(looks):
        look(clock, client)
        payment.refresh_from_db()
        if not payment.is_open:
            return payment
        if payment.lookup.next_check_at:
            clock.forward(seconds=max((payment.lookup.next_check_at - clock()).total_seconds(), 0) + 0.01)
    raise AssertionError(f"{payment.id} is still {payment.status}: {payment.status_detail}")
