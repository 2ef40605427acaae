"""The Python client can make every call of the merchant's API to a running service."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import quittance
from quittance.cli.simulate import OUTCOMES

from chains.models import Token
from payments.models import PaymentRequest
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.receiver import Receiver
from tests.unit.clients.python.conftest import RECIPIENT

Terms = Callable[..., dict[str, Any]]


def test_a_request_is_created_and_read_back(client: quittance.Client, terms: Terms) -> None:
    made = client.payment_requests.create(
        **terms(external_id="order-1001", metadata={"cart": "7"}, expires_in=600, description="Two mugs")
    )
    row = PaymentRequest.objects.get()
    assert (made.id, made.status, made.external_id) == (str(row.id), "active", "order-1001")
    assert (made.amount.raw, made.amount.formatted, made.amount.value) == (
        "12500000",
        "12.500000",
        Decimal("12.5"),
    )
    assert made.payment_url.endswith(f"/pay/{made.shortcode}")
    assert made.metadata == {"cart": "7"}
    assert made.expires_at - made.created_at == timedelta(seconds=600)
    assert made.token.symbol == "USDC"
    read = client.payment_requests.retrieve(made.id)
    assert (read, read.payments) == (
        quittance.PaymentRequest.from_answer({**made.to_dict(), "payments": []}),
        [],
    )


def test_a_link_is_created_used_and_switched_off(client: quittance.Client, terms: Terms, coin: Token) -> None:
    body = {name: value for name, value in terms().items() if name != "amount"}
    limits = {"min": "5", "max": Decimal("100.5")}
    end = datetime.now(UTC) + timedelta(days=1)
    link = client.payment_links.create(name="Donations", open_amount=limits, expires_at=end, **body)
    assert link.open_amount is not None
    assert (link.open_amount.min.base_units, link.expires_at) == (5_000_000, end)
    request = client.payment_requests.create(payment_link=link.id, amount="7.50")
    assert (request.payment_link, request.amount.formatted) == (link.id, "7.500000")
    assert [each.id for each in client.payment_requests.list(payment_link=link.id)] == [request.id]
    assert client.payment_links.retrieve(link.id).requests_count == 1
    assert client.payment_links.update(link.id, is_active=False, name="Old").name == "Old"
    assert [each.is_active for each in client.payment_links.list(is_active=False)] == [False]
    with pytest.raises(quittance.InvalidRequestError) as refused:
        client.payment_requests.create(payment_link=link.id, amount="7.50")
    assert (refused.value.status, refused.value.code) == (409, "link_inactive")
    with pytest.raises(ValueError, match="time zone"):
        client.payment_links.create(name="x", expires_at=datetime(2099, 1, 1), **terms())


@pytest.mark.parametrize("amount", ["0.000001", Decimal("0.000001"), Decimal("1E-6")])
def test_amounts_are_exact(client: quittance.Client, terms: Terms, amount: str | Decimal) -> None:
    made = client.payment_requests.create(**terms(amount=amount))
    assert (made.amount.base_units, PaymentRequest.objects.get().amount) == (1, 1)


@pytest.mark.parametrize("amount", [10.0, 10, True, None], ids=repr)
def test_a_float_or_another_type_is_no_amount(client: quittance.Client, terms: Terms, amount: Any) -> None:
    with pytest.raises(TypeError, match="string or a Decimal"):
        client.payment_requests.create(**terms(amount=amount))
    assert not PaymentRequest.objects.exists()


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "-Infinity"])
def test_a_decimal_that_is_no_number_is_no_amount(
    client: quittance.Client, terms: Terms, amount: str
) -> None:
    with pytest.raises(ValueError, match="should be a number"):
        client.payment_requests.create(**terms(amount=Decimal(amount)))
    assert not PaymentRequest.objects.exists()


def test_rejection_names_what_is_wrong(client: quittance.Client, terms: Terms) -> None:
    with pytest.raises(quittance.InvalidRequestError) as refused:
        client.payment_requests.create(**terms(amount="1.0000001", redirect_url="nowhere"))
    error = refused.value
    assert (error.status, error.type) == (400, "invalid_request_error")
    assert {each["param"]: each["code"] for each in error.details} == {
        "amount": "amount_too_precise",
        "redirect_url": "url_invalid",
    }
    assert (error.code, error.param) == (error.details[0]["code"], error.details[0]["param"])
    assert error.request_id
    assert str(error) == (
        f"amount_too_precise: amount: {error.message} Also at fault: redirect_url. (request {error.request_id})"
    )
    assert not PaymentRequest.objects.exists()


def test_a_list_goes_on_by_itself(client: quittance.Client, terms: Terms) -> None:
    made = [client.payment_requests.create(**terms(external_id=f"order-{n}")).id for n in range(5)]
    page = client.payment_requests.list(limit=2)
    assert ([each.id for each in page], page.has_more, len(page)) == (made[:2:-1], True, 2)
    assert [each.id for each in page.auto_paging_iter()] == made[::-1]
    newer = client.payment_requests.list(limit=2, ending_before=made[0])
    assert [each.id for each in newer.auto_paging_iter()] == made[1:]
    assert [each.id for each in client.payment_requests.list(external_id="order-3")] == [made[3]]


def test_a_list_takes_filters(client: quittance.Client, terms: Terms, coin: Token) -> None:
    kept = client.payment_requests.create(**terms())
    client.payment_requests.cancel(client.payment_requests.create(**terms()).id)
    found = client.payment_requests.list(
        status="active",
        token_id=coin.id,
        chain_id=coin.chain_id,
        created_after=datetime.now(UTC) - timedelta(minutes=5),
        created_before=datetime.now(UTC) + timedelta(minutes=5),
    )
    assert ([each.id for each in found], found.has_more) == ([kept.id], False)
    with pytest.raises(ValueError, match="time zone"):
        client.payment_requests.list(created_after=datetime(2026, 1, 1))


def test_the_catalogue_is_read_without_the_key(service: str, coin: Token) -> None:
    stranger = quittance.Client("quitt_" + "0" * 40, base_url=service)
    assert [chain.id for chain in stranger.chains.list()] == [coin.chain_id]
    tokens = {token.symbol: token for token in stranger.chains.tokens(coin.chain_id)}
    assert (tokens["USDC"].id, tokens["USDC"].decimals) == (coin.id, 6)
    assert stranger.currencies.list() == []
    with pytest.raises(quittance.AuthenticationError) as refused:
        stranger.payment_requests.list()
    assert (refused.value.status, refused.value.code) == (401, "api_key_invalid")


def test_a_delivery_is_found_and_sent_again(
    client: quittance.Client, terms: Terms, receiver: Receiver
) -> None:
    client.webhooks.update(url=receiver.url)
    made = client.payment_requests.create(**terms(external_id="order-1"))
    client.sandbox.simulate(made.id, "paid")
    (event,) = client.events.list(type="payment.succeeded")
    while deliver_next():
        pass
    (delivery,) = client.deliveries.list(event_id=event.id, status="delivered")
    assert (delivery.type, delivery.attempts) == ("payment.succeeded", None)
    again = client.deliveries.redeliver(delivery.id)
    assert client.deliveries.redeliver_failed(datetime.now(UTC), type="payment.succeeded") == 0
    with pytest.raises(ValueError, match="time zone"):
        client.deliveries.redeliver_failed(datetime(2026, 1, 1))
    assert again.status == "pending"
    while deliver_next():
        pass
    read = client.deliveries.retrieve(delivery.id)
    assert read.attempts
    assert [attempt.status_code for attempt in read.attempts] == [200, 200]
    assert [each.body for each in receiver.received] == [receiver.received[0].body] * 2


def test_an_event_is_read_as_it_is_delivered(client: quittance.Client, terms: Terms) -> None:
    made = client.payment_requests.create(**terms(amount="9007199254740.993", external_id="order-1"))
    client.sandbox.simulate(made.id, "paid")
    (listed,) = client.events.list()
    event = client.events.retrieve(listed.id)
    assert event == listed
    about = event.data.object
    assert (event.type, about.reference, about.payment_request) == ("payment.succeeded", "order-1", made.id)
    assert about.amount == 9007199254740993000  # exact beyond 2^53
    assert about.amount_paid
    assert about.amount_paid.base_units == about.amount


def test_each_outcome_can_be_simulated(client: quittance.Client, terms: Terms) -> None:
    for outcome in OUTCOMES:
        request = client.payment_requests.create(**terms())
        if outcome == "restored":
            client.sandbox.simulate(request.id, "reorged")
        made = client.sandbox.simulate(request.id, outcome)
        assert made.payments or made.status == "expired"
        assert bool(made.refunds) == outcome.startswith("refund")
    assert client.sandbox.is_available()


@pytest.mark.parametrize("id", ["", "..", "../webhooks", "a/b", "a?b", "a\n", "é"])
def test_id_that_would_change_the_path_is_rejected(client: quittance.Client, id: str) -> None:
    with pytest.raises(ValueError, match="not an id"):
        client.payment_requests.retrieve(id)


def test_unknown_fields_and_values_of_newer_api_are_kept(client: quittance.Client, terms: Terms) -> None:
    answer = client.payment_requests.create(**terms()).to_dict()
    newer = quittance.PaymentRequest.from_answer(
        {**answer, "colour": "blue", "status": "pondering", "token": {**answer["token"], "tags": ["new"]}}
    )
    assert (newer.status, newer.recipient_address, newer.token.symbol) == ("pondering", RECIPIENT, "USDC")
    assert newer.to_dict()["colour"] == "blue"
