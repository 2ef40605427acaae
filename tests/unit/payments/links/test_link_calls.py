"""Payment links by the API: accepted input, and the payment requests that they create."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from chains.models import Chain, Switch, Token
from chains.switches import Feature
from merchants.models import Merchant
from merchants.recipients import allow_recipients, disallow_recipients
from merchants.services import issue_key
from payments.models import PaymentLink, PaymentLinkChange, PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.api.fixtures import error_of
from tests.support.payments.credits import credit
from tests.support.rates.exchanges import Exchanges
from webhooks.models import Event

pytestmark = pytest.mark.django_db

LINKS, REQUESTS = "/api/payment-links", "/api/payment-requests"
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
Order = Callable[..., dict[str, Any]]


@pytest.fixture
def terms(order: Order) -> Order:
    """Return a function that makes a valid body for creating a link. An amount of None is left out."""

    def build(**different: Any) -> dict[str, Any]:
        body = {**order(), "name": "Tasting", **different}
        return {name: value for name, value in body.items() if (name, value) != ("amount", None)}

    return build


def create(api: Api, body: dict[str, Any]) -> dict[str, Any]:
    answer = api.post(LINKS, body)
    assert answer.status_code == 201, answer.content
    made: dict[str, Any] = answer.json()
    return made


def rejected(answer: Any) -> tuple[int, str, str | None]:
    error = error_of(answer)
    return answer.status_code, error["code"], error["param"]


def patch(api: Api, link: dict[str, Any], **changes: Any) -> Any:
    return api.call("PATCH", f"{LINKS}/{link['id']}", changes)


def test_link_is_created_listed_and_read_alike(api: Api, terms: Order, usdc: Token, settings: Any) -> None:
    end = (timezone.now() + timedelta(days=1)).isoformat()
    body = terms(
        description="One seat",
        metadata={"event": "tasting"},
        max_payments=3,
        expires_at=end,
        redirect_url="https://shop.example.com/thanks",
    )
    link = create(api, body)
    assert (link["object"], link["id"][:3], len(link["id"])) == ("payment_link", "pl_", 27)
    assert link["url"] == f"{settings.CHECKOUT_URL}/l/{link['code']}"
    assert link["amount"] == {"raw": "10500000", "formatted": "10.500000", "decimals": 6}
    assert (link["price"], link["open_amount"]) == (None, None)
    assert (link["is_active"], link["requests_count"], link["payments_count"]) == (True, 0, 0)
    assert (link["max_payments"], datetime.fromisoformat(link["expires_at"])) == (
        3,
        datetime.fromisoformat(end),
    )
    assert (link["token"]["id"], link["chain_id"], link["name"]) == (usdc.id, usdc.chain_id, "Tasting")
    assert api.get(f"{LINKS}/{link['id']}").json() == link
    assert api.get(LINKS).json()["data"] == [link]
    assert PaymentRequest.objects.count() == 0
    (change,) = PaymentLinkChange.objects.all()
    assert change.what == "created"
    assert change.actor.startswith("api key quitt_")


@pytest.mark.parametrize(
    ("different", "code", "param"),
    [
        ({"amount": None, "open_amount": "5"}, "parameter_invalid", "open_amount"),
        ({"amount": None, "open_amount": {"min": "0"}}, "amount_not_positive", "open_amount.min"),
        ({"amount": None, "open_amount": {"min": "1e3"}}, "amount_invalid", "open_amount.min"),
        ({"amount": None, "open_amount": {"min": "5", "max": "6.0000001"}}, "amount_too_precise", "open_amount.max"),
        ({"amount": None, "open_amount": {"min": "5", "maximum": "6"}}, "parameter_unknown", "open_amount.maximum"),
        ({"amount": "-1"}, "amount_invalid", "amount"),
        ({"name": ""}, "parameter_invalid", "name"),
        ({"name": "x" * 101}, "parameter_invalid", "name"),
        ({"max_payments": True}, "parameter_invalid", "max_payments"),
        ({"expires_at": "soon"}, "parameter_invalid", "expires_at"),
        ({"expires_at": 1}, "parameter_invalid", "expires_at"),
        ({"external_id": "1"}, "parameter_unknown", "external_id"),
        ({"token_id": 999}, "token_unknown", "token_id"),
        ({"recipient_address": "0x0"}, "address_invalid", "recipient_address"),
        ({"redirect_url": "javascript:alert(1)"}, "url_invalid", "redirect_url"),
    ],
)  # fmt: skip
def test_invalid_link_is_rejected_and_nothing_is_stored(
    api: Api, terms: Order, different: dict[str, Any], code: str, param: str
) -> None:
    assert rejected(api.post(LINKS, terms(**different))) == (400, code, param)
    assert not PaymentLink.objects.exists()


def test_all_invalid_fields_of_a_link_are_reported(api: Api, terms: Order) -> None:
    body = terms(amount=None, open_amount={"min": "x"}, name=7, token_id="2", max_payments=0)
    params = {detail["param"] for detail in error_of(api.post(LINKS, body))["details"]}
    assert params == {"open_amount.min", "name", "token_id", "max_payments"}


def test_price_beside_amount_reports_its_own_problem_too(api: Api, terms: Order) -> None:
    answer = api.post(LINKS, terms(price={"currency": "EUR", "amount": "-1"}))
    assert [detail["param"] for detail in error_of(answer)["details"]] == ["price", "price.amount"]
    assert error_of(answer)["message"] == "Send only one of amount, price and open_amount."
    assert not PaymentLink.objects.exists()


def test_retry_with_the_same_key_creates_one_link(api: Api, terms: Order) -> None:
    answers = [api.post(LINKS, terms(), **{"Idempotency-Key": "once"}) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[1]["Idempotent-Replayed"] == "true"
    assert PaymentLink.objects.count() == 1


def test_link_is_renamed_and_switched_with_its_history(api: Api, terms: Order) -> None:
    link = create(api, terms())
    changed = patch(api, link, is_active=False, name="Old tasting").json()
    assert changed == {**link, "is_active": False, "name": "Old tasting"}
    assert patch(api, link).json() == changed
    assert patch(api, link, is_active=True).json()["is_active"] is True
    lines = list(PaymentLinkChange.objects.values_list("what", flat=True))
    assert lines == ["created", "renamed from “Tasting” to “Old tasting”", "deactivated", "activated"]


@pytest.mark.parametrize(
    ("changes", "code", "param"),
    [
        ({"is_active": None}, "parameter_missing", "is_active"),
        ({"name": ""}, "parameter_invalid", "name"),
        ({"name": "a\u202eb"}, "parameter_invalid", "name"),
    ],
)
def test_invalid_change_of_a_link_is_rejected(
    api: Api, terms: Order, changes: dict[str, Any], code: str, param: str
) -> None:
    link = create(api, terms())
    assert rejected(patch(api, link, **changes)) == (400, code, param)
    assert api.get(f"{LINKS}/{link['id']}").json() == link


def test_another_merchants_link_is_missing_everywhere(
    api: Api, terms: Order, other_merchant: Merchant
) -> None:
    link = create(api, terms())
    stranger = Api(issue_key(merchant=other_merchant, permissions=["create_payments"])[1])
    assert stranger.get(LINKS).json()["data"] == []
    for answer in (
        stranger.get(f"{LINKS}/{link['id']}"),
        patch(stranger, link, is_active=False),
        stranger.post(REQUESTS, {"payment_link": link["id"]}),
        stranger.post(REQUESTS, {"payment_link": "pl_" + "1" * 24}),
        stranger.post(REQUESTS, {"payment_link": "%"}),
    ):
        assert rejected(answer)[:2] == (404, "resource_missing")
    assert api.get(f"{LINKS}/{link['id']}").json() == link
    assert not PaymentRequest.objects.exists()


def test_links_are_filtered_by_whether_they_are_on(api: Api, terms: Order) -> None:
    first, second = create(api, terms()), create(api, terms())
    patch(api, first, is_active=False)

    def listed(query: str) -> list[str]:
        return [each["id"] for each in api.get(f"{LINKS}?{query}").json()["data"]]

    assert listed("is_active=true") == [second["id"]]
    assert listed("is_active=false") == [first["id"]]
    assert listed("limit=1&starting_after=" + second["id"]) == [first["id"]]


def test_request_by_a_link_has_the_links_terms(api: Api, terms: Order, local_chain: LocalChain) -> None:
    link = create(
        api,
        terms(description="One seat", metadata={"a": "b"}, redirect_url="https://shop.example.com/thanks"),
    )
    request = api.post(REQUESTS, {"payment_link": link["id"]}).json()
    assert request["payment_link"] == link["id"]
    assert (request["amount"], request["recipient_address"]) == (link["amount"], local_chain.recipient)
    assert (request["description"], request["metadata"]) == ("One seat", {"a": "b"})
    assert request["redirect_url"] == "https://shop.example.com/thanks"
    created, expires = (datetime.fromisoformat(request[name]) for name in ("created_at", "expires_at"))
    assert expires - created == timedelta(hours=1)
    assert api.get(f"{REQUESTS}/{request['id']}").json()["payment_link"] == link["id"]
    assert api.get(f"{LINKS}/{link['id']}").json()["requests_count"] == 1


def test_requests_are_filtered_by_their_link(api: Api, terms: Order, order: Order) -> None:
    link = create(api, terms())
    made = [api.post(REQUESTS, {"payment_link": link["id"]}).json()["id"] for _ in range(3)]
    api.post(REQUESTS, order())

    def listed(query: str) -> list[str]:
        return [each["id"] for each in api.get(f"{REQUESTS}?{query}").json()["data"]]

    assert listed(f"payment_link={link['id']}") == made[::-1]
    assert listed(f"payment_link={link['id']}&starting_after={made[1]}") == made[:1]
    assert listed("payment_link=pl_none") == []


def test_request_by_a_link_may_have_its_own_reference(api: Api, terms: Order) -> None:
    link = create(api, terms(description="One seat"))
    own = {"external_id": "7", "cancel_url": "https://shop.example.com/no", "metadata": {"seat": "12"}}
    request = api.post(REQUESTS, {"payment_link": link["id"], **own}).json()
    assert {name: request[name] for name in own} == own
    assert request["description"] == "One seat"


@pytest.mark.parametrize(
    "name", ["token_id", "chain_id", "recipient_address", "price", "expires_in", "amount"]
)
def test_terms_that_the_link_sets_are_rejected(api: Api, terms: Order, order: Order, name: str) -> None:
    link = create(api, terms())
    value = {**order(), "price": {"currency": "EUR", "amount": "1.00"}, "expires_in": 60}[name]
    answer = api.post(REQUESTS, {"payment_link": link["id"], name: value})
    assert rejected(answer) == (400, "parameter_invalid", name)
    assert not PaymentRequest.objects.exists()


OPEN = {"min": "5.00", "max": "100"}


@pytest.mark.parametrize(
    ("amount", "code"),
    [
        (None, "parameter_missing"), ("4.999999", "parameter_invalid"), ("100.000001", "parameter_invalid"),
        ("1e1", "amount_invalid"), ("5.0000001", "amount_too_precise"), ("0", "amount_not_positive"),
        (5, "amount_not_a_string"), ("9" * 79, "amount_too_large"),
    ],
)  # fmt: skip
def test_wrong_amount_for_an_open_link_is_rejected(api: Api, terms: Order, amount: Any, code: str) -> None:
    link = create(api, terms(amount=None, open_amount=OPEN))
    answer = api.post(REQUESTS, {"payment_link": link["id"], "amount": amount})
    assert rejected(answer) == (400, code, "amount")
    assert not PaymentRequest.objects.exists()
    assert PaymentLink.objects.get().requests_count == 0


@pytest.mark.parametrize("amount", ["5", "5.00", "100", "0099.5"])
def test_amount_within_the_limits_is_requested(api: Api, terms: Order, amount: str) -> None:
    link = create(api, terms(amount=None, open_amount=OPEN))
    assert link["open_amount"]["max"]["formatted"] == "100.000000"
    answer = api.post(REQUESTS, {"payment_link": link["id"], "amount": amount})
    assert answer.status_code == 201
    assert int(answer.json()["amount"]["raw"]) == int(float(amount) * 10**6)


def test_price_of_a_link_is_converted_for_each_request(api: Api, terms: Order, exchanges: Exchanges) -> None:
    price = {"currency": "EUR", "amount": "25.00"}
    link = create(api, terms(amount=None, price=price))
    assert (link["price"], link["amount"]) == (price, None)
    first = api.post(REQUESTS, {"payment_link": link["id"]}).json()
    assert (first["price"], first["amount"]["raw"]) == (price, "27456128")
    created, expires = (datetime.fromisoformat(first[name]) for name in ("created_at", "expires_at"))
    assert expires - created == timedelta(seconds=900)


def test_price_without_a_rate_makes_no_link(api: Api, terms: Order, exchanges: Exchanges) -> None:
    exchanges.coinbase.clear()
    answer = api.post(LINKS, terms(amount=None, price={"currency": "EUR", "amount": "25.00"}))
    assert (answer.status_code, error_of(answer)["code"]) == (503, "rate_unavailable")
    assert not PaymentLink.objects.exists()


def test_token_without_a_price_makes_no_link_with_a_price(api: Api, terms: Order) -> None:
    answer = api.post(LINKS, terms(amount=None, price={"currency": "EUR", "amount": "25.00"}))
    assert rejected(answer) == (400, "parameter_invalid", "price")
    assert not PaymentLink.objects.exists()


def test_inactive_link_takes_no_request_until_it_is_on_again(api: Api, terms: Order) -> None:
    link = create(api, terms())
    opened = api.post(REQUESTS, {"payment_link": link["id"]}).json()
    patch(api, link, is_active=False)
    call = {"Idempotency-Key": "again"}
    assert rejected(api.post(REQUESTS, {"payment_link": link["id"]}, **call)) == (
        409,
        "link_inactive",
        "payment_link",
    )
    assert PaymentRequest.objects.count() == 1
    # The open request can still be paid.
    credit(PaymentRequest.objects.get(), 10_500_000)
    assert api.get(f"{REQUESTS}/{opened['id']}").json()["status"] == "completed"
    patch(api, link, is_active=True)
    assert api.post(REQUESTS, {"payment_link": link["id"]}, **call).status_code == 201


def test_expired_link_takes_no_request(api: Api, terms: Order) -> None:
    link = create(api, terms())
    PaymentLink.objects.update(expires_at=timezone.now())
    assert rejected(api.post(REQUESTS, {"payment_link": link["id"]}))[1] == "link_inactive"
    assert not PaymentRequest.objects.exists()


@pytest.mark.parametrize("model", [Token, Chain])
def test_link_of_an_inactive_token_or_chain_takes_no_request(
    api: Api, terms: Order, model: type[Token] | type[Chain]
) -> None:
    link = create(api, terms())
    model.objects.update(is_active=False)
    assert rejected(api.post(REQUESTS, {"payment_link": link["id"]}))[1] == "link_inactive"
    assert not PaymentRequest.objects.exists()


def test_removed_recipient_gets_no_more_requests(
    api: Api, terms: Order, merchant: Merchant, local_chain: LocalChain
) -> None:
    link = create(api, terms())
    allow_recipients(merchant, [("evm", OTHER)], request=None)
    assert rejected(api.post(REQUESTS, {"payment_link": link["id"]}))[:2] == (400, "recipient_not_allowed")
    assert rejected(api.post(LINKS, terms()))[:2] == (400, "recipient_not_allowed")
    assert (PaymentRequest.objects.count(), PaymentLink.objects.get().requests_count) == (0, 0)
    disallow_recipients(merchant, [("evm", OTHER)], request=None)
    assert api.post(REQUESTS, {"payment_link": link["id"]}).status_code == 201


def test_kill_switch_stops_links_and_their_requests(api: Api, terms: Order, usdc: Token) -> None:
    link = create(api, terms())
    Switch.objects.create(name=f"token:{usdc.pk}")
    for answer in (api.post(LINKS, terms()), api.post(REQUESTS, {"payment_link": link["id"]})):
        assert (answer.status_code, error_of(answer)["code"]) == (503, "service_unavailable")
    Switch.objects.all().delete()
    Switch.objects.create(name=Feature.PRICES.value)
    assert api.post(REQUESTS, {"payment_link": link["id"]}).status_code == 201
    assert PaymentRequest.objects.count() == 1


def test_events_name_the_payment_link(api: Api, terms: Order, order: Order, merchant: Merchant) -> None:
    api.put("/api/webhooks", {"enabled_events": ["payment.succeeded"]})
    link = create(api, terms())
    api.post(REQUESTS, {"payment_link": link["id"]})
    api.post(REQUESTS, order())
    for request in PaymentRequest.objects.order_by("created_at"):
        credit(request, request.amount)
    events = api.get("/api/events").json()["data"]
    assert [event["data"]["object"]["payment_link"] for event in events] == [None, link["id"]]
    assert Event.objects.count() == 2


def test_public_request_does_not_show_its_link(api: Api, public: Api, terms: Order) -> None:
    link = create(api, terms())
    request = api.post(REQUESTS, {"payment_link": link["id"]}).json()
    shown = public.get(f"/api/public/payment-requests/{request['id']}").json()
    assert "payment_link" not in shown
    assert link["id"] not in str(shown)
