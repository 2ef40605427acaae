"""Every public page has a strict content security policy. An error page runs no script."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from limits import parse

from checkout.pages import pay
from tests.conftest import Api

Create = Callable[..., dict[str, Any]]
MISSING = [
    "/nothing",
    "/pay/",
    "/pay/{code}/",
    "/pay/{code}/nothing",
    "/pay/{code}/logo",
    "/static/nothing.js",
]
OWN = ["/", "/pay/{code}", "/pay/{code}/by-hand", "/pay/nonesuch2345", "/pay/nonesuch2345/receipt"]


@pytest.fixture
def code(api: Api, order: Create) -> str:
    return str(api.post("/api/payment-requests", order()).json()["shortcode"])


@pytest.fixture
def visitor(db: None) -> Client:
    """A browser that gets a page even if the service raises an error."""
    return Client(raise_request_exception=False)


def assert_guarded(response: Any) -> dict[str, str]:
    """Check that no site can frame the page and no foreign script can run; return the policy's directives."""
    policy = dict(part.split(" ", 1) for part in response["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert not re.search(r"unsafe|https?:|\*", response["Content-Security-Policy"])
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cache-Control"] == "no-store"
    return policy


@pytest.mark.parametrize("path", [*OWN, *MISSING])
def test_every_page_has_a_strict_policy(visitor: Client, code: str, path: str) -> None:
    response = visitor.get(path.format(code=code))
    policy = assert_guarded(response)
    if path in MISSING:
        assert response.status_code == 404
        assert "script-src" not in policy
        assert code not in response.content.decode()


def test_broken_page_explains_it_in_the_customers_language(
    visitor: Client, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pay, "find_request", _raise(RuntimeError("secret of the house")))
    response = visitor.get(f"/pay/{code}", headers={"Accept-Language": "de"})
    assert response.status_code == 500
    assert "script-src" not in assert_guarded(response)
    text = response.content.decode()
    assert '<html lang="de"' in text
    assert "Bei uns ist etwas schiefgegangen." in text
    assert "secret of the house" not in text
    assert "Server Error" not in text


def test_page_without_a_database_is_a_503_with_retry_after(
    visitor: Client, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pay, "find_request", _raise(OperationalError("server closed the connection")))
    response = visitor.get(f"/pay/{code}")
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert_guarded(response)
    assert "Your payment is not affected" in response.content.decode()
    assert "closed the connection" not in response.content.decode()


def test_broken_front_page_has_a_strict_policy(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkout.pages.front.page_policy", _raise(RuntimeError("secret of the house")))
    response = visitor.get("/")
    assert response.status_code == 500
    assert_guarded(response)
    assert "Something went wrong on our side" in response.content.decode()


def test_rate_limited_page_has_a_strict_policy(visitor: Client, code: str, settings: Any) -> None:
    settings.RATE_LIMIT_PUBLIC = parse("1/hour")
    visitor.get(f"/pay/{code}")
    response = visitor.get(f"/pay/{code}")
    assert response.status_code == 429
    assert "script-src" not in assert_guarded(response)


def test_page_of_another_host_has_a_strict_policy(visitor: Client, code: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["pay.example.com"]
    response = visitor.get(f"/pay/{code}", headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert "script-src" not in assert_guarded(response)
    assert "evil.example" not in response.content.decode()


def _raise(error: Exception) -> Callable[..., Any]:
    def raising(*_arguments: Any, **_named: Any) -> Any:
        raise error

    return raising
