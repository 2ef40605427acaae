"""A client that sends exactly the given bytes with exactly the given headers."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from config.api.limits import rate_limits
from merchants.models import ApiKey
from payments.models import Payment, PaymentRequest, Route
from webhooks.models import Event

CREATE = "/api/payment-requests"

Raw = Callable[..., Any]


@pytest.fixture
def raw(api_key: tuple[ApiKey, str]) -> Raw:
    """Return a function that sends a body unchanged, with Alice's key, and returns Django's response."""
    client = Client(raise_request_exception=False)

    def send(
        body: bytes = b"",
        *,
        method: str = "POST",
        path: str = CREATE,
        content_type: str = "application/json",
        **headers: str,
    ) -> Any:
        return client.generic(
            method, path, data=body, content_type=content_type, headers={"X-API-Key": api_key[1], **headers}
        )

    return send


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Wait longer for Redis, for busy machines. Another test checks the service's own short time limit."""
    monkeypatch.setattr(rate_limits, "_TIMEOUT_SECONDS", 20.0)
    rate_limits._in_redis.cache_clear()
    rate_limits._redis.responded()
    yield
    rate_limits._in_redis.cache_clear()


def nothing_stored() -> bool:
    """Whether the tables that a call could have written to are empty."""
    return not any(model.objects.exists() for model in (PaymentRequest, Payment, Route, Event))


def error_of(response: Any) -> dict[str, Any]:
    """Check that the error has every documented field; return it."""
    assert response["Content-Type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) == {"type", "code", "message", "param", "request_id", "details"}
    assert error["request_id"] == response["X-Request-Id"]
    assert error["message"]
    for detail in error["details"]:
        assert set(detail) == {"param", "code", "message"}
    if error["details"]:
        assert {name: error[name] for name in ("param", "code", "message")} == error["details"][0]
    return error
