"""Every page for the public has a policy, a page that nobody thought of above all: what failed may run nothing."""

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
    """Somebody who is answered with a page even where the service breaks."""
    return Client(raise_request_exception=False)


def assert_guarded(answer: Any) -> dict[str, str]:
    """Assert that nobody frames, and nothing foreign runs; return the policy by its directives."""
    policy = dict(part.split(" ", 1) for part in answer["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert not re.search(r"unsafe|https?:|\*", answer["Content-Security-Policy"])
    assert answer["X-Frame-Options"] == "DENY"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cache-Control"] == "no-store"
    return policy


@pytest.mark.parametrize("path", [*OWN, *MISSING])
def test_whatever_is_asked_for(visitor: Client, code: str, path: str) -> None:
    answer = visitor.get(path.format(code=code))
    policy = assert_guarded(answer)
    if path in MISSING:
        assert answer.status_code == 404
        assert "script-src" not in policy
        assert code not in answer.content.decode()


def test_a_page_that_breaks_says_so_in_the_customers_language(
    visitor: Client, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pay, "find_request", _raise(RuntimeError("secret of the house")))
    answer = visitor.get(f"/pay/{code}", headers={"Accept-Language": "de"})
    assert answer.status_code == 500
    assert "script-src" not in assert_guarded(answer)
    text = answer.content.decode()
    assert '<html lang="de"' in text
    assert "Bei uns ist etwas schiefgegangen." in text
    assert "secret of the house" not in text
    assert "Server Error" not in text


def test_without_its_database_it_asks_for_patience(
    visitor: Client, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pay, "find_request", _raise(OperationalError("server closed the connection")))
    answer = visitor.get(f"/pay/{code}")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert_guarded(answer)
    assert "Your payment is not affected" in answer.content.decode()
    assert "closed the connection" not in answer.content.decode()


def test_elsewhere_a_page_that_breaks_is_as_guarded(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkout.pages.front.page_policy", _raise(RuntimeError("secret of the house")))
    answer = visitor.get("/")
    assert answer.status_code == 500
    assert_guarded(answer)
    assert "Something went wrong on our side" in answer.content.decode()


def test_who_asks_too_often(visitor: Client, code: str, settings: Any) -> None:
    settings.RATE_LIMIT_PUBLIC = parse("1/hour")
    visitor.get(f"/pay/{code}")
    answer = visitor.get(f"/pay/{code}")
    assert answer.status_code == 429
    assert "script-src" not in assert_guarded(answer)


def test_who_asks_another_host(visitor: Client, code: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["pay.example.com"]
    answer = visitor.get(f"/pay/{code}", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "script-src" not in assert_guarded(answer)
    assert "evil.example" not in answer.content.decode()


def _raise(error: Exception) -> Callable[..., Any]:
    def raising(*_arguments: Any, **_named: Any) -> Any:
        raise error

    return raising
