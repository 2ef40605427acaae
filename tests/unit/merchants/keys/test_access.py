"""Access to each endpoint of the API with each kind of credential, and to another merchant's objects.

A new endpoint without a row here fails these tests.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from merchants.models import AllowedRecipient, ApiKey, Merchant, Permission
from merchants.services import issue_key, revoke_key
from payments.models import PaymentRequest
from tests.support.api.belongings import belongings
from tests.support.api.fixtures import error_of

NO_KEY, ANY_KEY, CREATE, MANAGE = "no key", "any key", "create_payments", "manage_webhooks"
SEND_BACK = "create_refunds"
REQUEST = "/api/payment-requests/{request}"
CHECKOUT = "/api/public/payment-requests/{request}"
REFUND = "/api/refunds/{refund}"
DELIVERY = "/api/webhooks/deliveries/{delivery}"


@dataclass(frozen=True)
class Row:
    """The permission that a call requires, and its response to a caller with it."""

    needs: str
    method: str
    path: str
    status: int = 200
    code: str | None = None
    body: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


NEW = {
    "amount": "1",
    "token_id": "{token}",
    "chain_id": 8453,
    "recipient_address": "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
}
ROWS = [
    Row(NO_KEY, "GET", "/api/public/chains"),
    Row(NO_KEY, "GET", "/api/public/chains/8453/tokens"),
    Row(NO_KEY, "GET", "/api/public/currencies"),
    Row(NO_KEY, "GET", CHECKOUT),
    Row(NO_KEY, "GET", f"{CHECKOUT}/events", 404, "resource_missing"),
    Row(NO_KEY, "POST", f"{CHECKOUT}/routes", 400, "parameter_missing"),
    Row(NO_KEY, "POST", f"{CHECKOUT}/deposit-address", 409, "deposit_address_unavailable"),
    Row(NO_KEY, "POST", f"{CHECKOUT}/authorizations", 400, "parameter_missing"),
    Row(NO_KEY, "POST", f"{CHECKOUT}/payments", 400, "parameter_missing"),
    Row(NO_KEY, "POST", f"{CHECKOUT}/payer-proof", 400, "parameter_missing"),
    Row(NO_KEY, "POST", f"{CHECKOUT}/payments/{{unbound}}/proof-message", 400, "parameter_missing"),
    Row(NO_KEY, "POST", f"{CHECKOUT}/balances/essential", 400, "parameter_missing"),
    Row(NO_KEY, "POST", "/api/public/discover-wallet-tokens", 400, "parameter_missing"),
    Row(NO_KEY, "POST", "/api/public/check-approval", 400, "parameter_missing"),
    Row(NO_KEY, "POST", "/api/public/build-transaction", 400, "parameter_missing"),
    Row(NO_KEY, "GET", "/api/schema"),
    Row(NO_KEY, "GET", "/api/docs"),
    Row(ANY_KEY, "GET", "/api/payment-requests"),
    Row(CREATE, "POST", "/api/payment-requests", 201, body=NEW),
    Row(ANY_KEY, "GET", REQUEST),
    Row(CREATE, "POST", f"{REQUEST}/cancel"),
    Row(ANY_KEY, "GET", f"{REQUEST}/payments"),
    Row(CREATE, "POST", f"{REQUEST}/payments", body={"transaction_hash": f"0x{1:064x}", "chain_id": 8453}),
    Row(CREATE, "POST", f"{REQUEST}/payments/{{lost}}/retry"),
    Row(CREATE, "POST", f"{REQUEST}/payments/{{unbound}}/accept", body={"reason": "theirs"}),
    Row(SEND_BACK, "POST", f"{REQUEST}/refunds", 400, "parameter_invalid", body={"payment_id": 7}),
    Row(ANY_KEY, "GET", f"{REQUEST}/refunds"),
    Row(ANY_KEY, "GET", "/api/refunds"),
    Row(ANY_KEY, "GET", REFUND),
    Row(
        SEND_BACK,
        "POST",
        f"{REFUND}/address",
        body={"recipient_address": "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"},
    ),
    Row(
        SEND_BACK,
        "POST",
        f"{REFUND}/build",
        409,
        "refund_not_ready",
        body={"wallet_address": NEW["recipient_address"]},
    ),
    Row(
        SEND_BACK,
        "POST",
        f"{REFUND}/submit",
        409,
        "refund_not_ready",
        body={"transaction_hash": f"0x{1:064x}"},
    ),
    Row(SEND_BACK, "POST", f"{REFUND}/cancel"),
    Row(ANY_KEY, "GET", "/api/payment-links"),
    Row(CREATE, "POST", "/api/payment-links", 201, body={**NEW, "name": "Tasting"}),
    Row(ANY_KEY, "GET", "/api/payment-links/{link}"),
    Row(CREATE, "PATCH", "/api/payment-links/{link}", body={"is_active": False}),
    Row(CREATE, "POST", "/api/test/payment-requests/{request}/simulate", body={"outcome": "paid"}),
    Row(MANAGE, "GET", "/api/webhooks"),
    Row(MANAGE, "PUT", "/api/webhooks", body={"url": None}),
    Row(MANAGE, "POST", "/api/webhooks/test", 409, "webhook_not_configured"),
    Row(MANAGE, "GET", "/api/webhooks/deliveries"),
    Row(MANAGE, "GET", DELIVERY),
    Row(MANAGE, "POST", f"{DELIVERY}/redeliver"),
    Row(
        MANAGE,
        "POST",
        "/api/webhooks/deliveries/redeliver",
        409,
        "webhook_not_configured",
        body={"since": "2026-01-31T12:00:00Z"},
    ),
    Row(ANY_KEY, "GET", "/api/events"),
    Row(ANY_KEY, "GET", "/api/events/{event}"),
]


def endpoints(resolver: URLResolver | None = None, before: str = "/") -> Iterator[tuple[str, str]]:
    """Yield (method, path) of all endpoints under /api. Paths are written as in the URL patterns."""
    for pattern in (resolver or get_resolver()).url_patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from endpoints(pattern, path)
        elif path.startswith("/api/"):
            yield from ((method, path) for method in methods(pattern))


def methods(pattern: URLPattern) -> set[str]:
    """Return the methods of a pattern's view, except HEAD and OPTIONS."""
    actions = getattr(pattern.callback, "actions", None)
    if actions:
        return {method.upper() for method in actions} - {"HEAD", "OPTIONS"}
    view = getattr(pattern.callback, "cls", None) or getattr(pattern.callback, "view_class", None)
    if view is None:
        return {"GET"}
    return {name.upper() for name in view.http_method_names if hasattr(view, name)} - {"HEAD", "OPTIONS"}


def pattern_of(row: Row) -> re.Pattern[str]:
    """Return an expression that matches the row's path in the URL patterns' notation."""
    return re.compile(re.sub(r"\{\w+\}|8453", "<[^/]+>", row.path))


def row_of(endpoint: tuple[str, str]) -> Row | None:
    method, path = endpoint
    rows = [row for row in ROWS if row.method == method and pattern_of(row).fullmatch(path)]
    return rows[0] if len(rows) == 1 else None


ENDPOINTS = sorted(set(endpoints()))


@dataclass(frozen=True)
class Keys:
    """One merchant's keys by permission, with some that are no longer valid."""

    reader: str
    creator: str
    refunder: str
    manager: str
    every: str
    revoked: str
    expired: str
    unknown: str = "quitt_" + "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def keys(merchant: Merchant) -> Keys:
    def issue(*permissions: str) -> tuple[ApiKey, str]:
        return issue_key(merchant=merchant, permissions=permissions)

    revoked, expired = issue(*Permission.values), issue(*Permission.values)
    revoke_key(revoked[0])
    ApiKey.objects.filter(pk=expired[0].pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    return Keys(
        reader=issue()[1],
        creator=issue(CREATE)[1],
        refunder=issue(SEND_BACK)[1],
        manager=issue(MANAGE)[1],
        every=issue(CREATE, SEND_BACK, MANAGE)[1],
        revoked=revoked[1],
        expired=expired[1],
    )


@dataclass(frozen=True)
class Credential:
    """A caller's credential, the calls that it allows, and the error code of all other calls."""

    name: str
    headers: Callable[[Keys], dict[str, str]]
    rejection: str | None = None
    opens: tuple[str, ...] = ()
    query: Callable[[Keys], str] = lambda keys: ""


def bearer(key: str) -> str:
    return f"Bearer {key}"


EVERYTHING = (ANY_KEY, CREATE, SEND_BACK, MANAGE)
CREDENTIALS = [
    Credential("none", lambda keys: {}, "api_key_missing"),
    Credential("an empty header", lambda keys: {"X-API-Key": ""}, "api_key_missing"),
    Credential("a word", lambda keys: {"X-API-Key": "secret"}, "api_key_missing"),
    Credential("a key cut short", lambda keys: {"X-API-Key": keys.every[:-1]}, "api_key_missing"),
    Credential("a key in capitals", lambda keys: {"X-API-Key": keys.every.upper()}, "api_key_missing"),
    Credential("another scheme", lambda keys: {"Authorization": f"Basic {keys.every}"}, "api_key_missing"),
    Credential("a bare key as authorization", lambda keys: {"Authorization": keys.every}, "api_key_missing"),
    Credential("a key in the query", lambda keys: {}, "api_key_missing", query=lambda keys: keys.every),
    Credential("unknown", lambda keys: {"X-API-Key": keys.unknown}, "api_key_invalid"),
    Credential("unknown as bearer", lambda keys: {"Authorization": bearer(keys.unknown)}, "api_key_invalid"),
    Credential("revoked", lambda keys: {"X-API-Key": keys.revoked}, "api_key_revoked"),
    Credential("revoked as bearer", lambda keys: {"Authorization": bearer(keys.revoked)}, "api_key_revoked"),
    Credential("expired", lambda keys: {"X-API-Key": keys.expired}, "api_key_expired"),
    Credential(
        "two different good keys",
        lambda keys: {"X-API-Key": keys.every, "Authorization": bearer(keys.reader)},
        "api_key_invalid",
    ),
    Credential(
        "a good key and a malformed one",
        lambda keys: {"X-API-Key": keys.every, "Authorization": "Bearer x"},
        "api_key_invalid",
    ),
    Credential("no permission", lambda keys: {"X-API-Key": keys.reader}, opens=(ANY_KEY,)),
    Credential(
        "no permission, and a better key in the query",
        lambda keys: {"X-API-Key": keys.reader},
        opens=(ANY_KEY,),
        query=lambda keys: keys.every,
    ),
    Credential("create_payments", lambda keys: {"X-API-Key": keys.creator}, opens=(ANY_KEY, CREATE)),
    Credential("create_refunds", lambda keys: {"X-API-Key": keys.refunder}, opens=(ANY_KEY, SEND_BACK)),
    Credential("manage_webhooks", lambda keys: {"X-API-Key": keys.manager}, opens=(ANY_KEY, MANAGE)),
    Credential("every permission", lambda keys: {"X-API-Key": keys.every}, opens=EVERYTHING),
    Credential("as bearer", lambda keys: {"Authorization": bearer(keys.every)}, opens=EVERYTHING),
    Credential(
        "the same in both headers",
        lambda keys: {"X-API-Key": keys.every, "Authorization": bearer(keys.every)},
        opens=EVERYTHING,
    ),
]
_LISTS = (
    "/api/payment-requests",
    f"{REQUEST}/payments",
    "/api/refunds",
    f"{REQUEST}/refunds",
    "/api/payment-links",
    "/api/webhooks/deliveries",
    "/api/events",
)


def expected(row: Row, credential: Credential) -> tuple[int, str | None]:
    """Return the expected status and code for this row and credential."""
    if row.needs != NO_KEY and credential.rejection is not None:
        return 401, credential.rejection
    if row.needs != NO_KEY and row.needs not in credential.opens:
        return 403, "permission_denied"
    if credential.query(SOME_KEYS) and row.method == "GET" and row.path in _LISTS:
        return (
            400,
            "parameter_unknown",
        )  # lists reject unknown parameters
    return row.status, row.code


SOME_KEYS = Keys(*["quitt_"] * 7)


@pytest.fixture
def things(merchant: Merchant) -> dict[str, str]:
    """One object of each kind that Alice can have: the ids by the names that the rows use."""
    return {name: str(value) for name, value in belongings(merchant).items()}


def call(row: Row, things: dict[str, str], headers: dict[str, str], query: str = "") -> Any:
    path = row.path.format(**things)
    body = {name: int(things["token"]) if value == "{token}" else value for name, value in row.body.items()}
    return Client(raise_request_exception=False).generic(
        row.method,
        f"{path}?api_key={query}" if query else path,
        data=b"" if row.method == "GET" else json.dumps(body).encode(),
        content_type="application/json",
        headers=headers,
    )


def everything_stored() -> list[Any]:
    """Return all rows of the product's tables, without the times at which keys were last used."""
    stored = []
    for model in apps.get_models():
        if model._meta.app_label in ("chains", "merchants", "webhooks", "payments"):
            names = [f.attname for f in model._meta.concrete_fields if f.attname != "last_used_at"]
            stored.append((model, list(model._default_manager.order_by("pk").values_list(*names))))
    return stored


@contextmanager
def writes() -> Iterator[list[str]]:
    """Record the statements that change data, except the time at which a key was last used."""
    written: list[str] = []

    def note(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        text = sql if isinstance(sql, str) else sql.as_string()
        if re.search(r"\b(INSERT INTO|UPDATE|DELETE FROM) ", text) and '"last_used_at"' not in text:
            written.append(text)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield written


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=" ".join)
def test_each_endpoint_requires_its_permission(
    endpoint: tuple[str, str], keys: Keys, things: dict[str, str]
) -> None:
    row = row_of(endpoint)
    assert row is not None
    for credential in CREDENTIALS:
        with transaction.atomic(), writes() as written:
            response = call(row, things, credential.headers(keys), credential.query(keys))
            status, code = expected(row, credential)
            answered = error_of(response)["code"] if response.status_code >= 400 else None
            assert (response.status_code, answered) == (status, code), credential.name
            if status == 401:
                assert response["WWW-Authenticate"], credential.name
            if status == 403:
                assert row.needs in error_of(response)["message"], credential.name
            if response.status_code >= 400:
                assert written == [], credential.name
            else:
                assert bool(written) == (row.method != "GET"), credential.name
            for key in (keys.every, keys.reader, keys.revoked, keys.unknown):
                assert key.encode() not in response.content
            transaction.set_rollback(True)


OBJECTS = [row for row in ROWS if "{" in row.path and row.needs != NO_KEY]


@pytest.mark.parametrize("row", OBJECTS, ids=str)
def test_another_merchants_object_is_as_if_it_did_not_exist(
    row: Row, things: dict[str, str], other_merchant: Merchant
) -> None:
    theirs = {name: str(value) for name, value in belongings(other_merchant).items()}
    # Alice allowed the same wallet first. Without this row, the stranger could not accept payments to it.
    AllowedRecipient.objects.create(
        merchant=other_merchant, chain_type="evm", address=NEW["recipient_address"]
    )
    key = issue_key(merchant=other_merchant, permissions=Permission.values)[1]
    headers = {"X-API-Key": key, "X-Request-Id": "the-same"}
    before = everything_stored()
    absent = {
        "request": "01890000-0000-7000-8000-000000000000",
        "lost": "pay_111111111111111111111111",
        "unbound": "pay_111111111111111111111111",
        "event": "evt_111111111111111111111111",
        "delivery": "del_111111111111111111111111",
        "link": "pl_111111111111111111111111",
    }
    for name in ("request", "lost", "unbound", "event", "delivery", "link"):
        if f"{{{name}}}" in row.path:
            # If the path names two objects, one is Alice's and the other is the stranger's.
            answer = call(row, {**theirs, name: things[name]}, headers)
            nothing = call(row, {**theirs, name: absent[name]}, headers)
            assert (nothing.status_code, error_of(nothing)["code"]) == (404, "resource_missing")
            # The two responses may differ only in the requested id.
            shown = answer.content.replace(things[name].encode(), absent[name].encode())
            assert (answer.status_code, shown) == (404, nothing.content), name
            assert dict(answer.headers) == dict(nothing.headers)
    assert everything_stored() == before
    assert call(row, theirs, headers).status_code == row.status


def test_a_payment_is_found_under_its_own_request_alone(
    merchant: Merchant, things: dict[str, str], keys: Keys
) -> None:
    second = {name: str(value) for name, value in _another_request(merchant).items()}
    before = everything_stored()
    for row in OBJECTS:
        if "/payments/" in row.path:
            response = call(row, {**things, **second}, {"X-API-Key": keys.every})
            assert (response.status_code, error_of(response)["code"]) == (404, "resource_missing")
    assert everything_stored() == before


def _another_request(owner: Merchant) -> dict[str, Any]:
    first = PaymentRequest.objects.get()
    copied = ("chain", "token", "amount", "recipient_address", "expires_at", "expiry_check_at")
    return {
        "request": PaymentRequest.objects.create(
            merchant=owner, **{name: getattr(first, name) for name in copied}
        ).id
    }
