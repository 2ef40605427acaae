"""Malformed and repeated credentials are rejected. test_access.py tests every kind of credential with every call."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from limits import RateLimitItemPerHour

from merchants.keys import authentication
from merchants.models import ApiKey, Merchant

PATH = "/api/payment-requests/01890000-0000-7000-8000-000000000000"
UNKNOWN = "quitt_" + "0123456789abcdef" * 2 + "01234567"


def ask(query: str = "", **headers: str) -> Any:
    names = {"key": "X-API-Key", "authorization": "Authorization"}
    return Client().get(PATH + query, headers={names[name]: value for name, value in headers.items()})


def code(response: Any) -> str:
    return str(response.json()["error"]["code"])


def is_let_in(response: Any) -> bool:
    return response.status_code == 404 and code(response) == "resource_missing"


@pytest.fixture
def key(api_key: tuple[ApiKey, str]) -> str:
    return api_key[1]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Basic YWxpY2U6c2VjcmV0"},
        {"authorization": "Bearer"},
        {"authorization": f"Bearer {UNKNOWN}, Bearer {UNKNOWN}"},
        {"authorization": "Bearer \x00\x1f\x7f"},
        {"authorization": "Bearer qu\xefitt_"},
        {"authorization": "B" * 8000},
        {"key": "quitt_"},
        {"key": UNKNOWN + "0"},
        {"key": "quitt_" + "ä" * 40},
        {"key": "quitt_" + "٣" * 40},
        {"key": f"{UNKNOWN},{UNKNOWN}"},  # as servers join two headers of the same name
        {"key": "abc", "authorization": "Bearer abc"},
    ],
)
def test_malformed_key_is_rejected_and_not_repeated(db: None, headers: dict[str, str]) -> None:
    response = ask(**headers)
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["type"]) == (
        401,
        "api_key_missing",
        "authentication_error",
    )
    assert response["WWW-Authenticate"]
    assert not any(value in response.content.decode() for value in headers.values() if len(value) > 6)


@pytest.mark.parametrize("authorization", ["Basic YWxpY2U6c2VjcmV0", "Token abc", UNKNOWN, "Bearer abc"])
def test_valid_key_beside_another_credential_is_rejected(key: str, authorization: str) -> None:
    response = ask(key=key, authorization=authorization)
    assert (response.status_code, code(response)) == (401, "api_key_invalid")
    assert response["WWW-Authenticate"]


@pytest.mark.parametrize("authorization", ["", " ", "Bearer", "Bearer "])
def test_an_empty_credential_beside_a_good_key_is_none(key: str, authorization: str) -> None:
    assert is_let_in(ask(key=key, authorization=authorization))


def test_a_key_both_expired_and_revoked_says_revoked(api_key: tuple[ApiKey, str]) -> None:
    row, key = api_key
    ApiKey.objects.filter(pk=row.pk).update(expires_at=timezone.now(), revoked_at=timezone.now())
    assert code(ask(key=key)) == "api_key_revoked"


def test_log_of_a_limited_call_names_the_merchant(
    key: str, merchant: Merchant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[dict[str, object]] = []
    monkeypatch.setattr(authentication, "add_to_log_context", lambda **ids: logged.append(ids))
    settings.RATE_LIMIT_API = RateLimitItemPerHour(1)
    assert is_let_in(ask(key=key))
    assert logged == []
    assert ask(key=key).status_code == 429
    assert logged == [{"merchant_id": merchant.pk}]
