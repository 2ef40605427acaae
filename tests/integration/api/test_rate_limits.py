"""Rate limits by API key and by client address: a call over the limit returns 429 `rate_limited`."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from limits import parse

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from merchants.models import Merchant
from merchants.services import issue_key
from payments.models import Payment, PaymentRequest
from payments.providers import token_list
from payments.providers.base import ListedToken
from tests.conftest import Api
from tests.support.api.fixtures import CREATE, error_of, nothing_stored
from tests.support.payments.rows import new_payment
from tests.unit.merchants.keys.test_idempotency_everywhere import ABSENT, patterns

Order = Callable[..., dict[str, Any]]

ROUTES = "/api/public/payment-requests/{}/routes"
# Public POST calls that query no node, with the reason.
CHEAP = {
    "/api/public/payment-requests/<str:id>/payments": "writes a hash down; has its own caps",
    "/api/public/payment-requests/<str:id>/authorizations": "counts itself, only if the signature is right",
    "/api/public/payment-requests/<str:id>/deposit-address": "counts itself, only if it queries nodes",
}


@pytest.fixture(autouse=True)
def limits(settings: Any, patient: None) -> Any:
    """Three calls an hour of each kind, unless a test sets another limit."""
    settings.RATE_LIMIT_API = settings.RATE_LIMIT_PUBLIC = settings.RATE_LIMIT_EXPENSIVE = parse("3/hour")
    return settings


@pytest.fixture
def request_id(api: Api, order: Order, limits: Any) -> str:
    """A payment request, created before calls are counted."""
    limits.RATE_LIMIT_API = None
    created: str = api.post(CREATE, order()).json()["id"]
    return created


def assert_rate_limited(response: Any) -> None:
    assert response.status_code == 429
    error = error_of(response)
    assert (error["type"], error["code"]) == ("rate_limit_error", "rate_limited")
    assert 1 <= int(response["Retry-After"]) <= 3600
    assert response["Cache-Control"] == "no-store"


# --- by key ----------------------------------------------------------------------------------------------------------


def test_key_beyond_its_limit_is_rejected(api: Api, order: Order) -> None:
    assert [api.get("/api/webhooks").status_code for _ in range(3)] == [200] * 3
    assert_rate_limited(api.post(CREATE, order()))
    assert nothing_stored()


def test_forbidden_calls_count_toward_the_limit(merchant: Merchant) -> None:
    weak = Api(issue_key(merchant=merchant, permissions=["create_payments"])[1])
    assert [weak.get("/api/webhooks").status_code for _ in range(4)] == [403] * 3 + [429]


def test_rejected_call_claims_no_idempotency_key(api: Api, order: Order, limits: Any) -> None:
    for _ in range(3):
        api.get("/api/webhooks")
    assert_rate_limited(api.post(CREATE, order(), **{"Idempotency-Key": "order-1001"}))
    limits.RATE_LIMIT_API = None
    assert api.post(CREATE, order(), **{"Idempotency-Key": "order-1001"}).status_code == 201


# --- by address ------------------------------------------------------------------------------------------------------


def test_public_calls_count_by_request_and_address(public: Api, request_id: str) -> None:
    path = f"/api/public/payment-requests/{request_id}"
    assert [public.get(path).status_code for _ in range(3)] == [200] * 3
    rejected = public.get(path)
    assert_rate_limited(rejected)
    assert rejected["Access-Control-Allow-Origin"] == "*", "the calling page can read the reason"
    assert "Retry-After" in rejected["Access-Control-Expose-Headers"]


def test_calls_without_a_request_count_together(public: Api) -> None:
    paths = ["/api/public/chains", "/api/public/nothing-here", "/api/public/chains"]
    assert [public.get(path).status_code for path in paths] == [200, 404, 200]
    assert_rate_limited(public.get("/api/public/chains"))


def test_one_address_gets_ten_times_the_limit_in_total(public: Api) -> None:
    unknown = [f"/api/public/payment-requests/unknown-{number}" for number in range(31)]
    assert [public.get(path).status_code for path in unknown] == [404] * 30 + [429]


def test_preflight_request_is_not_counted(public: Api) -> None:
    for _ in range(5):
        queried = public.call("OPTIONS", "/api/public/chains", **{"Access-Control-Request-Method": "GET"})
        assert queried.status_code == 204
    assert public.get("/api/public/chains").status_code == 200


def test_rate_limited_page_explains_the_wait(public: Api, request_id: str) -> None:
    code = PaymentRequest.objects.get().shortcode
    assert [public.get(f"/pay/{code}").status_code for _ in range(3)] == [200] * 3
    rejected = public.get(f"/pay/{code}")
    assert rejected.status_code == 429
    assert rejected["Content-Type"].startswith("text/html")
    assert "One moment, please" in rejected.content.decode()
    assert f"{rejected['Retry-After']} second" in rejected.content.decode()
    assert "default-src 'none'" in rejected["Content-Security-Policy"]


def test_keyed_calls_do_not_count_as_public_calls(api: Api, public: Api, limits: Any) -> None:
    limits.RATE_LIMIT_API = None
    for _ in range(5):
        api.get("/api/webhooks")
    assert public.get("/api/public/chains").status_code == 200


def test_hash_is_accepted_from_a_rate_limited_address(
    public: Api, request_id: str, usdc: Any, limits: Any
) -> None:
    for _ in range(4):
        rejected = public.get(f"/api/public/payment-requests/{request_id}")
    assert_rate_limited(rejected)
    sent = {"transaction_hash": "0x" + "1" * 64, "chain_id": usdc.chain_id}
    path = f"/api/public/payment-requests/{request_id}/payments"
    assert [public.post(path, sent).status_code for _ in range(5)] == [201, 200, 200, 200, 200]
    assert Payment.objects.count() == 1


def test_failed_authentications_are_rate_limited(public: Api, api: Api, limits: Any) -> None:
    limits.RATE_LIMIT_API = None
    wrong = Api("quitt_" + "0" * 40)
    seen = [public.get("/api/webhooks"), wrong.get("/api/webhooks"), wrong.post(CREATE, {})]
    assert [response.json()["error"]["code"] for response in seen] == [
        "api_key_missing",
        "api_key_invalid",
        "api_key_invalid",
    ]
    assert_rate_limited(wrong.get("/api/webhooks"))
    assert_rate_limited(public.get("/api/webhooks"))
    assert api.get("/api/webhooks").status_code == 200, "a good key from the same address is not held up"


# --- by address, for calls that query nodes
# ---------------------------------------------------------------------------


def expensive_paths() -> list[str]:
    """Return each public POST that isn't in CHEAP. A new one must be counted or added to CHEAP."""
    found = []
    for path, pattern in patterns():
        actions = getattr(pattern.callback, "actions", None) or {}
        if path.startswith("/api/public/") and "post" in actions and path not in CHEAP:
            found.append(path)
    return sorted(found)


def valid_body(path: str, request: PaymentRequest, route_id: str, wallet: str) -> dict[str, Any]:
    body: dict[str, Any] = {
        "route_id": route_id,
        "wallet_address": wallet,
        "chain_id": request.chain_id,
        "token_id": request.token_id,
        "signature": "0x" + "1" * 130,
    }
    wanted = {
        "routes": ("wallet_address", "chain_id", "token_id"),
        "payer-proof": ("route_id", "wallet_address", "signature"),
        "proof-message": ("wallet_address",),
        "build-transaction": ("route_id",),
        "check-approval": ("route_id",),
        "essential": ("wallet_address",),
        "discover-wallet-tokens": ("wallet_address",),
    }
    return {name: body[name] for name in wanted[path.rsplit("/", 1)[1]]}


@pytest.fixture
def route_id(public: Api, request_id: str, usdc: Any, local_chain: Any, limits: Any) -> str:
    limits.RATE_LIMIT_PUBLIC = limits.RATE_LIMIT_EXPENSIVE = None
    body = {"wallet_address": local_chain.payer, "chain_id": usdc.chain_id, "token_id": usdc.id}
    found: str = public.post(ROUTES.format(request_id), body).json()["routes"][0]["id"]
    limits.RATE_LIMIT_EXPENSIVE = parse("3/hour")
    return found


def address_of(path: str, request_id: str) -> str:
    request = PaymentRequest.objects.get()
    payment = request.payments.first() or new_payment(
        request=request, chain=request.chain, transaction_hash="0x" + "12" * 32
    )
    return re.sub(r"<str:(\w+)>", request_id, path.replace("<str:payment_id>", payment.pk))


def post_from(ip: str, path: str, body: Any) -> Any:
    client = Client(raise_request_exception=False, REMOTE_ADDR=ip)
    return client.post(path, body, content_type="application/json")


@pytest.mark.parametrize("path", expensive_paths())
def test_each_expensive_call_counts_by_request_and_address(
    path: str, request_id: str, route_id: str, local_chain: Any
) -> None:
    body = valid_body(path, PaymentRequest.objects.get(), route_id, local_chain.payer)
    address = address_of(path, request_id)
    seen = [post_from("192.0.2.1", address, body).status_code for _ in range(3)]
    assert 429 not in seen
    assert not [status for status in seen if status >= 500]
    assert_rate_limited(post_from("192.0.2.1", address, body))
    assert post_from("192.0.2.2", address, body).status_code != 429


@pytest.mark.parametrize("path", expensive_paths())
def test_invalid_input_and_unknown_ids_are_not_counted(
    path: str, request_id: str, route_id: str, local_chain: Any
) -> None:
    body = valid_body(path, PaymentRequest.objects.get(), route_id, local_chain.payer)
    address = address_of(path, request_id)
    wrong: list[tuple[str, Any]] = [(address, {}), (address, "{")]
    if "wallet_address" in body:
        wrong.append((address, {**body, "wallet_address": "0x12"}))
    if "chain_id" in body:
        wrong.append((address, {**body, "chain_id": 999_999}))
        wrong.append((address, {**body, "token_id": 999_999}))
    if "route_id" in body:
        wrong.append((address, {**body, "route_id": "rt_unknown"}))
    if "<str:id>" in path:
        wrong.append((re.sub(r"<str:(\w+)>", "unknown", path), body))
    seen = {post_from("192.0.2.1", where, what).status_code for where, what in wrong * 4}
    assert seen <= {400, 404}, seen
    assert post_from("192.0.2.1", address, body).status_code != 429


def test_invalid_binding_is_not_counted(public: Api, request_id: str, route_id: str, limits: Any) -> None:
    PaymentRequest.objects.update(references=False)
    wrong = {"route_id": route_id, "binding": "reference"}
    seen = [public.post("/api/public/build-transaction", wrong) for _ in range(5)]
    assert {(each.status_code, each.json()["error"]["param"]) for each in seen} == {(400, "binding")}
    assert public.post("/api/public/build-transaction", {"route_id": route_id}).status_code == 200


def test_twenty_empty_calls_leave_the_request_payable(
    request_id: str, route_id: str, local_chain: Any
) -> None:
    """One address's calls never count for another: empty, valid or over the limit."""
    address = ROUTES.format(request_id)
    body = valid_body(address, PaymentRequest.objects.get(), route_id, local_chain.payer)
    for sent in ({}, body):
        for _ in range(20):
            post_from("192.0.2.1", address, sent)
    assert post_from("192.0.2.1", address, body).status_code == 429
    assert post_from("192.0.2.2", address, body).status_code == 200


def test_decimals_of_a_listed_token_are_read_after_the_count(
    request_id: str, route_id: str, local_chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token outside all catalogues costs a query to a node before the service can reject it."""
    queried: list[str] = []

    def metadata(self: Any, tokens: Any) -> Any:
        queried.extend(tokens)
        raise ChainError("no node for this test")

    stranger = "0x" + "ab" * 20
    listed = ListedToken(local_chain.chain_id, stranger, "ODD", "Odd", 18, None)
    monkeypatch.setattr(EvmClient, "token_metadata", metadata)
    monkeypatch.setattr(token_list, "listed_token", lambda *_: listed)
    body = {"wallet_address": local_chain.payer, "chain_id": local_chain.chain_id, "token_address": stranger}
    address = ROUTES.format(request_id)
    assert [post_from("192.0.2.1", address, body).status_code for _ in range(5)] == [503] * 3 + [429] * 2
    assert len(queried) == 3


def test_expensive_calls_share_one_count(
    public: Api, request_id: str, route_id: str, local_chain: Any
) -> None:
    request = PaymentRequest.objects.get()
    body = {"wallet_address": local_chain.payer, "chain_id": request.chain_id, "token_id": request.token_id}
    assert public.post(ROUTES.format(request_id), body).status_code == 200
    assert public.post(ROUTES.format(request.shortcode), body).status_code == 200
    public.post("/api/public/build-transaction", {"route_id": route_id})
    assert_rate_limited(public.post(ROUTES.format(request.shortcode), body))


def test_expensive_paths_are_found_in_the_urls() -> None:
    assert {
        "/api/public/payment-requests/<str:id>/routes",
        "/api/public/payment-requests/<str:id>/payer-proof",
        "/api/public/build-transaction",
    } <= set(expensive_paths())
    assert set(ABSENT) >= {"id"}
