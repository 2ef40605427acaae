"""Where an API key is read, and how each kind of bad key is refused."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from merchants.models import ApiKey, Merchant, Permission
from merchants.services import issue_key, revoke_key
from tests.conftest import Api

PATH = "/api/payment-requests/01890000-0000-7000-8000-000000000000"
UNKNOWN = "quitt_" + "0123456789abcdef" * 2 + "01234567"


def ask(query: str = "", **headers: str) -> Any:
    names = {"key": "X-API-Key", "authorization": "Authorization"}
    return Client().get(PATH + query, headers={names[name]: value for name, value in headers.items()})


def code(response: Any) -> str:
    return str(response.json()["error"]["code"])


def is_let_in(response: Any) -> bool:
    """A request that does not exist is 404 to whoever may look, and 401 to everybody else."""
    return response.status_code == 404 and code(response) == "resource_missing"


@pytest.fixture
def key(api_key: tuple[ApiKey, str]) -> str:
    return api_key[1]


@pytest.fixture
def second_key(merchant: Merchant) -> str:
    return issue_key(merchant=merchant, permissions=[])[1]


def test_the_key_may_stand_in_either_header(key: str) -> None:
    assert is_let_in(ask(key=key))
    assert is_let_in(ask(authorization=f"Bearer {key}"))
    assert is_let_in(ask(authorization=f"bearer {key}"))


def test_both_headers_may_hold_the_same_key(key: str) -> None:
    assert is_let_in(ask(key=key, authorization=f"Bearer {key}"))


def test_two_different_keys_are_refused_even_if_both_are_good(key: str, second_key: str) -> None:
    response = ask(key=key, authorization=f"Bearer {second_key}")
    assert (response.status_code, code(response)) == (401, "api_key_invalid")


@pytest.mark.parametrize("name", ["api_key", "X-API-Key", "key", "access_token", "authorization"])
def test_a_key_in_the_query_string_is_never_read(key: str, name: str) -> None:
    response = ask(query=f"?{name}={key}")
    assert (response.status_code, code(response)) == (401, "api_key_missing")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"key": ""},
        {"authorization": "Bearer "},
        {"authorization": "Basic YWxpY2U6c2VjcmV0"},
        {"key": "hello"},
        {"key": "quitt_"},
        {"key": UNKNOWN.upper()},
        {"key": UNKNOWN[:-1]},
        {"key": UNKNOWN + "0"},
        {"key": "sk_" + UNKNOWN[6:]},
        {"key": "quitt_" + "ä" * 40},
        {"key": "quitt_" + "٣" * 40},
        {"authorization": f"Bearer {UNKNOWN}, Bearer {UNKNOWN}"},
        {"key": "q" * 8000},
    ],
)
def test_a_missing_or_malformed_key_is_asked_for(db: None, headers: dict[str, str]) -> None:
    response = ask(**headers)
    assert (response.status_code, code(response)) == (401, "api_key_missing")
    assert response.json()["error"]["type"] == "authentication_error"
    assert response["WWW-Authenticate"]


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer"},
        {"authorization": "Bearer abc"},
        {"authorization": "Token " + UNKNOWN},
        {"authorization": UNKNOWN},
        {"authorization": "Bearer " + UNKNOWN + " " + UNKNOWN},
        {"authorization": "Bearer \x00\x1f\x7f"},
        {"authorization": "Bearer qu\xefitt_"},
        {"authorization": "B" * 8000},
        {"authorization": "Bearer " + "0" * 8000},
        {"key": "\x00"},
        {"key": f"{UNKNOWN},{UNKNOWN}"},  # two headers of one name, as servers join them
        {"key": "abc", "authorization": "Bearer abc"},
    ],
)
def test_a_malformed_key_is_refused_with_what_a_key_looks_like(db: None, headers: dict[str, str]) -> None:
    response = ask(**headers)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["type"]) == (
        401,
        "api_key_missing",
        "authentication_error",
    )
    assert "quitt_" in error["message"] or "Bearer <API_KEY>" in error["message"]
    assert response["WWW-Authenticate"]
    assert not any(value in response.content.decode() for value in headers.values() if len(value) > 6)


@pytest.mark.parametrize("authorization", ["Basic YWxpY2U6c2VjcmV0", "Token abc", UNKNOWN, "Bearer abc"])
def test_a_good_key_beside_another_credential_counts_as_two_that_differ(key: str, authorization: str) -> None:
    response = ask(key=key, authorization=authorization)
    assert (response.status_code, code(response)) == (401, "api_key_invalid")
    assert response["WWW-Authenticate"]


@pytest.mark.parametrize("authorization", ["", " ", "Bearer", "Bearer "])
def test_an_empty_credential_beside_a_good_key_is_none(key: str, authorization: str) -> None:
    assert is_let_in(ask(key=key, authorization=authorization))


def test_an_unknown_key_is_invalid(key: str) -> None:
    response = ask(key=UNKNOWN)
    assert (response.status_code, code(response)) == (401, "api_key_invalid")
    assert response["WWW-Authenticate"]


def test_a_revoked_key_says_that_it_was_revoked(api_key: tuple[ApiKey, str]) -> None:
    row, key = api_key
    assert is_let_in(ask(key=key))
    revoke_key(row)
    response = ask(key=key)
    assert (response.status_code, code(response)) == (401, "api_key_revoked")
    assert response["WWW-Authenticate"]


def test_an_expired_key_says_that_it_has_expired(api_key: tuple[ApiKey, str]) -> None:
    row, key = api_key
    ApiKey.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    response = ask(key=key)
    assert (response.status_code, code(response)) == (401, "api_key_expired")
    assert response["WWW-Authenticate"]


def test_a_key_both_expired_and_revoked_says_revoked(api_key: tuple[ApiKey, str]) -> None:
    row, key = api_key
    ApiKey.objects.filter(pk=row.pk).update(expires_at=timezone.now(), revoked_at=timezone.now())
    assert code(ask(key=key)) == "api_key_revoked"


@pytest.mark.parametrize(
    ("method", "path", "permission"),
    [
        ("POST", "/api/payment-requests", "create_payments"),
        ("POST", f"{PATH}/cancel", "create_payments"),
        ("POST", f"{PATH}/refunds", "create_refunds"),
        ("GET", "/api/webhooks", "manage_webhooks"),
        ("PUT", "/api/webhooks", "manage_webhooks"),
        ("POST", "/api/webhooks/test", "manage_webhooks"),
    ],
)
def test_a_key_without_the_permission_is_told_which_it_lacks(
    merchant: Merchant, method: str, path: str, permission: str
) -> None:
    others = [name for name in Permission.values if name != permission]
    _, key = issue_key(merchant=merchant, permissions=others)
    response = Api(key).call(method, path, {})
    assert (response.status_code, code(response)) == (403, "permission_denied")
    assert response.json()["error"]["type"] == "permission_error"
    assert permission in response.json()["error"]["message"]


def test_reading_payment_requests_needs_no_permission(second_key: str) -> None:
    assert is_let_in(ask(key=second_key))


def test_no_answer_repeats_the_key(key: str) -> None:
    for response in (ask(key=UNKNOWN), ask(key=key), ask(key=UNKNOWN[:-1])):
        assert UNKNOWN[6:20] not in response.content.decode()
        assert key not in response.content.decode()
