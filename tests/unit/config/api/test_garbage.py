"""No path, id, query or header causes a 5xx or stores anything."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from payments.models import PaymentRequest
from tests.support.api.fixtures import CREATE, Raw, error_of, nothing_stored

GARBAGE = [
    "%00", "a%00b", "%ff", "%ed%a0%80", "%", "%zz", "%0d%0a", "%20", "+", "..", "..%2f..%2fetc%2fpasswd", "'", "{}",
    "${7*7}", "{{7*7}}", "' OR '1'='1", "-1", "0", "9" * 5000, "null", "٣", "💎", quote("\u202e"), "0" * 32,
    "{01890000-0000-7000-8000-000000000000}", "urn:uuid:01890000-0000-7000-8000-000000000000", "１" * 32,
    "00000000-0000-0000-0000-000000000000",
]  # fmt: skip
PATHS = [
    ("GET", "/api/public/chains/{}/tokens"),
    ("GET", "/api/public/payment-requests/{}"),
    ("POST", "/api/public/payment-requests/{}/routes"),
    ("POST", "/api/public/payment-requests/{}/payments"),
    ("GET", "/api/payment-requests/{}"),
    ("POST", "/api/payment-requests/{}/cancel"),
    ("POST", "/api/payment-requests/{}/payments/pay_x/retry"),
    ("GET", "/api/payment-requests/{}/payments"),
    ("GET", "/api/events/{}"),
    ("GET", "/api/webhooks/deliveries/{}"),
    ("POST", "/api/webhooks/deliveries/{}/redeliver"),
    ("GET", "/api/{}"),
    ("GET", "/pay/{}"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_garbage_for_an_id_is_a_404(raw: Raw, method: str, path: str) -> None:
    for garbage in GARBAGE:
        response = raw(b"{}", method=method, path=path.format(garbage))
        assert response.status_code == 404, garbage
        if path.startswith("/api/"):
            assert error_of(response)["code"] == "resource_missing"
    assert nothing_stored()


@pytest.fixture
def made(raw: Raw, order: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """An existing payment request."""
    import json

    created: dict[str, Any] = raw(json.dumps(order()).encode()).json()
    return created


def test_garbage_in_the_query_changes_nothing(raw: Raw, made: dict[str, Any]) -> None:
    for path in (
        "/api/public/chains",
        "/api/public/currencies",
        f"/api/public/payment-requests/{made['id']}",
        f"{CREATE}/{made['id']}",
        f"/pay/{made['shortcode']}",
    ):
        for garbage in GARBAGE:
            response = raw(method="GET", path=f"{path}?limit={garbage}&{garbage}=1&{garbage}")
            assert response.status_code == 200, garbage


@pytest.mark.parametrize(
    "header",
    [
        "X-API-Key",
        "Authorization",
        "If-None-Match",
        "Content-Length",
        "Accept",
        "Idempotency-Key",
        "X-Forwarded-For",
        "Cookie",
        "Host",
    ],
)
def test_garbage_in_a_header_is_never_a_5xx(raw: Raw, made: dict[str, Any], header: str) -> None:
    values = [
        "",
        " ",
        "\x00",
        "\xff",
        "é",
        "x" * 8000,
        "Bearer ",
        "Bearer \x00",
        "Basic Og==",
        '"',
        "-1",
        "9" * 5000,
        "[::1",
    ]
    for value in values:
        for path in (
            "/api/public/chains",
            f"/api/public/payment-requests/{made['id']}",
            f"{CREATE}/{made['id']}",
        ):
            assert raw(method="GET", path=path, **{header: value}).status_code < 500, value
        assert raw(b"{}", **{header: value}).status_code < 500, value
    assert PaymentRequest.objects.count() == 1


WRONG_TYPES: list[Any] = [
    None,
    True,
    -1,
    1.5,
    "",
    "\u0000",
    [[]],
    {"a": 1},
    "9" * 5000,
    "💎",
    2**70,
]


@pytest.mark.parametrize(
    "name",
    ["amount", "token_id", "chain_id", "recipient_address", "external_id", "redirect_url", "cancel_url", "description",
     "metadata",
     "expires_in", "webhook_url", "references"],
)  # fmt: skip
def test_no_value_of_any_field_causes_a_5xx(
    raw: Raw, order: Callable[..., dict[str, Any]], name: str
) -> None:
    import json

    for value in WRONG_TYPES:
        before = PaymentRequest.objects.count()
        response = raw(json.dumps(order(**{name: value})).encode())
        assert response.status_code in (201, 400), value
        if response.status_code == 400:
            error = error_of(response)
            assert error["code"] == "invalid_json" or (error["param"].split(".")[0] in (name, "token_id")), (
                value
            )
            assert PaymentRequest.objects.count() == before
