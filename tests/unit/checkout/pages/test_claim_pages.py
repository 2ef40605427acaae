"""In every state of a refund, the claim's pages show the next step and who can help."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import signing
from django.db import transaction
from django.test import Client
from django.utils import timezone

from chains.families import ChainError
from merchants.models import Merchant
from merchants.switching import switch_off
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds import claims, services
from payments.refunds.claims import LIFETIME
from payments.requests.lifecycle import lock_request
from payments.sandbox import payments as sandbox_payments
from tests.support.payments.rows import new_payment
from tests.support.portal.payment_rows import SENDER
from tests.support.portal.refund_rows import OTHER, WHY, carrier_of, create, everything, fresh, pay

pytestmark = pytest.mark.django_db
SIGNATURE = "0x" + "1b" * 65
State = Callable[[PaymentRequest, pytest.MonkeyPatch], Refund]


def waiting(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    patch.setattr(claims, "_senders", lambda payment: [SENDER])
    patch.setattr(claims, "_has_signed", lambda *_: False)
    return create(paid, recipient_address=None)


def reorged(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    refund = waiting(paid, patch)
    paid.payments.update(reorged=True)
    return refund


def simulated(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    paid.payments.update(is_simulated=True)
    return waiting(paid, patch)


def relayed_swap(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    paid.payments.update(type="swap", bound_by="provider", from_address=OTHER)
    return waiting(paid, patch)


def several(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    first = paid.payments.get()
    pay(paid, 1)
    refund = waiting(paid, patch)
    patch.setattr(claims, "_senders", lambda payment: [SENDER if payment == first else OTHER])
    return refund


def refunds_off(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    refund = waiting(paid, patch)
    switch_off("refunds", reason=WHY, request=None)
    return refund


def token_off(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    refund = waiting(paid, patch)
    switch_off(f"token:{paid.token_id}", reason=WHY, request=None)
    return refund


def chain_down(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    def fail(payment: Payment) -> list[str]:
        raise claims._no_node(payment.chain) from ChainError("down")

    refund = waiting(paid, patch)
    patch.setattr(claims, "_senders", fail)
    return refund


def ready(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    return services.set_address(waiting(paid, patch), SENDER, actor="checkout").refund


def changed(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    return services.change_address(ready(paid, patch), OTHER, actor=WHY).refund


def processing(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    refund = ready(paid, patch)
    carrier = carrier_of(refund)
    new_payment(request=carrier, chain=carrier.chain, transaction_hash=f"0x{1:064x}", is_in_flight=True)
    return refund


def failed(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    refund = ready(paid, patch)
    with transaction.atomic():
        sandbox_payments.fail(lock_request(carrier_of(refund).pk), WHY)
    return refund


def completed(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    refund = ready(paid, patch)
    pay(carrier_of(refund), refund.amount)
    return refund


def cancelled(paid: PaymentRequest, patch: pytest.MonkeyPatch) -> Refund:
    refund = waiting(paid, patch)
    services.cancel_refund(refund, actor=WHY)
    return refund


def visit(client: Client, path: str, **fields: str) -> Any:
    if not fields:
        return client.get(path)
    body = "&".join(f"{name}={value}" for name, value in fields.items())
    return client.post(path, body, content_type="application/x-www-form-urlencoded")


def visits(refund: Refund) -> list[Any]:
    """Return the responses of the claim page, its form's POST, and the sign page's GET and POST, in this order."""
    page = f"/refunds/{refund.code}"
    until = int((timezone.now() + LIFETIME).timestamp())
    choice = signing.dumps([OTHER, until], salt="refund-claim" + refund.code)
    client = Client(raise_request_exception=False)
    return [
        visit(client, page),
        visit(client, f"{page}/address", wallet_address=OTHER),
        visit(client, f"{page}/sign/{choice}"),
        visit(client, f"{page}/sign/{choice}", signature=SIGNATURE),
    ]


SAID = {
    reorged: "no longer on the network",
    simulated: "simulated on a test system",
    relayed_swap: "certain which wallet made the payment",
    several: "Several wallets paid",
    refunds_off: "Refunds are paused",
    token_off: "Refunds are paused",
}
STATUSES = {
    waiting: (200, 303, 200, 400),
    reorged: (200, 409, 409, 409),
    simulated: (200, 409, 409, 409),
    relayed_swap: (200, 409, 409, 409),
    several: (200, 409, 200, 409),  # only the chain knows who may sign
    refunds_off: (200, 503, 503, 503),
    token_off: (200, 503, 503, 503),
    chain_down: (200, 503, 200, 503),
    ready: (200, 303, 302, 303),
    changed: (200, 303, 302, 303),
    processing: (200, 303, 302, 303),
    failed: (200, 303, 302, 303),
    completed: (200, 303, 302, 303),
    cancelled: (200, 303, 302, 303),
}


@pytest.mark.parametrize("state", STATUSES, ids=lambda state: state.__name__)
def test_every_page_of_a_claim_responds_in_every_state(
    paid: PaymentRequest, monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    Merchant.objects.update(support_email="help@bakery.example")
    refund = fresh(state(paid, monkeypatch))
    before = everything() if state is not waiting else None
    responses = visits(refund)
    assert tuple(each.status_code for each in responses) == STATUSES[state]
    for response in responses:
        if response.status_code in (302, 303):
            continue
        page = response.content.decode()
        assert "help@bakery.example" in page
        assert paid.shortcode in page
        if response.status_code == 503:
            assert int(response["Retry-After"]) > 0
        if state in SAID and STATUSES[state][0] == 200 and response.status_code in (409, 503):
            assert SAID[state] in page.replace("&#x27;", "'")
            assert "<form" not in page.split("<footer")[0]
    if before is not None:
        after = everything()
        assert [row["recipient_address"] for row in after[0]] == [
            row["recipient_address"] for row in before[0]
        ]
        assert after[1] == before[1]


@pytest.mark.parametrize(
    "state", [reorged, simulated, relayed_swap, refunds_off, token_off], ids=lambda state: state.__name__
)
def test_claim_page_says_at_once_that_no_wallet_can_sign(
    paid: PaymentRequest, monkeypatch: pytest.MonkeyPatch, state: State
) -> None:
    refund = state(paid, monkeypatch)
    page = Client().get(f"/refunds/{refund.code}").content.decode()
    assert SAID[state] in page.replace("&#x27;", "'")
    assert "<form" not in page.split("<footer")[0]
    assert ("The shop can enter it for you" in page) == (state not in (refunds_off, token_off))


@pytest.mark.parametrize(("state", "heading"), [(ready, "is coming back to you"), (completed, "Refund of")])
def test_claim_heading_says_whether_the_refund_is_still_to_come(
    paid: PaymentRequest, monkeypatch: pytest.MonkeyPatch, state: Callable[..., Refund], heading: str
) -> None:
    refund = state(paid, monkeypatch)
    page = Client().get(f"/refunds/{refund.code}").content.decode()
    headings = [part.split("</h1>")[0] for part in page.split("<h1")[1:]]
    assert [heading in each for each in headings] == [True]
    assert heading in page.split("<title>")[1].split("</title>")[0]
