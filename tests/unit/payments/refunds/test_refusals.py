"""Errors when a merchant sends a refund talk about the refund and the customer's wallet, not about a payment."""

from typing import Any

import pytest
from django.utils import timezone

from config.api.errors import ApiError
from payments.models import PaymentRequest, Route
from payments.routes.no_route import no_provider, no_wallet, not_available
from payments.routes.refusals import require_available, require_payable, require_valid_recipient
from payments.submission import caps
from payments.submission.hashes import submit_hash
from payments.submission.sightings import Sighting
from tests.support.portal.payment_rows import HASH, Make


class Refusing:
    """A chain's client that rejects every recipient."""

    def recipient_problem(self, address: str) -> str:
        return f"{address} is blocked."


@pytest.fixture
def carrier(make: Make) -> PaymentRequest:
    """A request that represents a refund."""
    PaymentRequest.objects.filter(pk=make().pk).update(is_refund=True)
    return PaymentRequest.objects.select_related("chain", "token").get()


def refused(call: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(ApiError) as error:
        call(*args, **options)
    return error.value.problems[0].message


@pytest.mark.django_db
def test_each_refusal_speaks_of_the_refund(carrier: PaymentRequest) -> None:
    blocked = refused(require_valid_recipient, Refusing(), carrier)
    assert blocked.startswith("The customer's wallet can't be paid")
    payment, _ = submit_hash(carrier, chain=carrier.chain, transaction_hash=HASH, actor="test")
    type(payment).objects.update(is_in_flight=True, amount_received=None, amount=carrier.amount)
    pending = refused(require_payable, carrier, timezone.now(), allow_parallel=False)
    assert pending == "A transaction of this refund is being verified. Wait for it before you send another."
    carrier.status = "cancelled"
    over = refused(require_payable, carrier, timezone.now(), allow_parallel=True)
    assert over == "This refund is cancelled. Don't send it."


def room(limit: int, monkeypatch: pytest.MonkeyPatch, carrier: PaymentRequest) -> str:
    """Return the error message for one transaction more than `limit`."""
    monkeypatch.setattr(caps, "MAX_OPEN_PAYMENTS", limit)
    seen = Sighting(facts=None, is_answered=True)
    return refused(caps.require_room, carrier, "someone", seen)


@pytest.mark.django_db
def test_what_stops_its_page_speaks_of_the_refund(
    carrier: PaymentRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not_available(carrier).message.startswith("Refunds in USDC on")
    assert no_provider(carrier).message.startswith("This refund is sent in USDC on")
    assert "another chain" not in no_wallet(carrier, "Some").message
    assert room(0, monkeypatch, carrier) == (
        "0 transactions of this refund are being verified. Wait until one is finished."
    )
    monkeypatch.setattr(caps, "MAX_PUBLIC_ROWS", 0)
    assert room(9, monkeypatch, carrier) == (
        "0 transactions were submitted for this refund. Submit yours with your API key."
    )
    monkeypatch.setattr("payments.models.request.is_offered", lambda token: False)
    route = Route(request=carrier, chain=carrier.chain, token=carrier.token)
    assert refused(require_available, route).startswith("Refunds in USDC on")
