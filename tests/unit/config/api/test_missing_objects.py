"""A 404 names the object's kind and id. It is the same if the object belongs to another merchant."""

import json
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from merchants.models import ApiKey, Merchant
from tests.support.api.belongings import belongings
from tests.support.api.fixtures import error_of

NO_UUID = "01890000-0000-7000-8000-000000000000"
NO_PAYMENT = "pay_111111111111111111111111"
NO_EVENT = "evt_111111111111111111111111"
NO_DELIVERY = "del_111111111111111111111111"
NO_CODE = "abcdefghjkmn"
NO_ROUTE = "rt_111111111111111111111111"
HOSTILE = [
    "<script>alert(1)</script>",
    "x\r\nSet-Cookie: a=b",
    "x" * 65,
    "nul\0",
    "\u202epay",
    "ä",
]

PLACES = [
    ("GET", "/api/payment-requests/{}", NO_UUID, "payment request"),
    ("GET", "/api/payment-requests/{}/payments", NO_UUID, "payment request"),
    ("POST", "/api/payment-requests/{}/cancel", NO_UUID, "payment request"),
    ("POST", "/api/payment-requests/{}/payments", NO_UUID, "payment request"),
    ("POST", "/api/payment-requests/{}/payments/pay_1/retry", NO_UUID, "payment request"),
    (
        "POST",
        "/api/payment-requests/{request}/payments/{}/retry",
        NO_PAYMENT,
        "payment of this payment request",
    ),
    (
        "POST",
        "/api/payment-requests/{request}/payments/{}/accept",
        NO_PAYMENT,
        "payment of this payment request",
    ),
    ("GET", "/api/events/{}", NO_EVENT, "event"),
    ("GET", "/api/webhooks/deliveries/{}", NO_DELIVERY, "webhook delivery"),
    ("POST", "/api/webhooks/deliveries/{}/redeliver", NO_DELIVERY, "webhook delivery"),
    ("GET", "/api/public/payment-requests/{}", NO_UUID, "payment request"),
    ("GET", "/api/public/payment-requests/{}", NO_CODE, "payment request"),
    ("POST", "/api/public/payment-requests/{}/routes", NO_CODE, "payment request"),
    ("POST", "/api/public/payment-requests/{}/balances/essential", NO_CODE, "payment request"),
    ("POST", "/api/public/payment-requests/{}/payments", NO_CODE, "payment request"),
]


@pytest.fixture
def things(merchant: Merchant) -> dict[str, str]:
    return {name: str(value) for name, value in belongings(merchant).items()}


@pytest.fixture
def key(api_key: tuple[ApiKey, str]) -> str:
    return api_key[1]


def call(key: str, method: str, path: str, body: Any = None) -> Any:
    headers = {} if path.startswith("/api/public") else {"X-API-Key": key}
    sent = b"" if method == "GET" else json.dumps(body or {}).encode()
    client = Client(raise_request_exception=False)
    return client.generic(method, path, data=sent, content_type="application/json", headers=headers)


def missing(response: Any) -> str:
    """Check the format of a 404; return its message."""
    error = error_of(response)
    assert (response.status_code, error["code"], error["param"]) == (404, "resource_missing", None)
    return str(error["message"])


def path_of(template: str, things: dict[str, str], name: str) -> str:
    return template.replace("{request}", things["request"]).replace("{}", quote(name, safe=""))


def test_missing_object_is_named_with_its_id(key: str, things: dict[str, str]) -> None:
    for method, template, id_, kind in PLACES:
        assert missing(call(key, method, path_of(template, things, id_))) == f"No {kind} has the id {id_}."


def test_malformed_id_is_not_repeated(key: str, things: dict[str, str]) -> None:
    for (method, template, _, kind), hostile in product(PLACES, HOSTILE):
        response = call(key, method, path_of(template, things, hostile))
        # A path with a NUL may match no URL at all.
        assert missing(response) in (f"No {kind} has this id.", UNKNOWN), response.content
        assert hostile not in response.content.decode()


UNKNOWN = "Unknown path. /api/docs lists all paths; none ends in a slash."


def test_a_route_that_does_not_exist_is_named(key: str, things: dict[str, str]) -> None:
    for path in ("/api/public/build-transaction", "/api/public/check-approval"):
        response = call(key, "POST", path, {"route_id": NO_ROUTE})
        assert missing(response) == f"No route has the id {NO_ROUTE}."


def test_a_chain_that_does_not_exist_is_named(key: str, things: dict[str, str]) -> None:
    assert missing(call(key, "GET", "/api/public/chains/5/tokens")) == "No active chain has the id 5."


def test_other_merchants_object_is_reported_as_missing(
    key: str, things: dict[str, str], other_merchant: Merchant
) -> None:
    theirs = {name: str(value) for name, value in belongings(other_merchant).items()}
    for template, kind, name in (
        ("/api/payment-requests/{}", "payment request", "request"),
        ("/api/events/{}", "event", "event"),
        ("/api/webhooks/deliveries/{}", "webhook delivery", "delivery"),
    ):
        response = call(key, "GET", template.format(theirs[name]))
        assert missing(response) == f"No {kind} has the id {theirs[name]}."
