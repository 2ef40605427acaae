"""Any origin may call /api/public, without credentials. No other path allows calls from other origins."""

import pytest
from django.test import Client

from tests.conftest import Api

ORIGIN = {"Origin": "https://shop.example"}
PREFLIGHT = {
    **ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type",
}
PUBLIC = [
    "/api/public/chains",
    "/api/public/chains/9/tokens",
    "/api/public/currencies",
    "/api/public/build-transaction",
    "/api/public/nowhere",
]
KEYED = [
    "/api/payment-requests",
    "/api/webhooks",
    "/api/nowhere",
    "/api/publicity",
    "/api",
    "/pay/nosuchcode12",
    "/healthz",
    "/admin/login/",
]


@pytest.mark.parametrize("path", PUBLIC)
def test_public_response_allows_any_origin_even_for_errors(public: Api, path: str) -> None:
    response = public.get(path, **ORIGIN)
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "X-Request-Id" in response["Access-Control-Expose-Headers"]
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize("path", PUBLIC)
def test_a_public_preflight_is_answered(public: Api, path: str) -> None:
    response = public.call("OPTIONS", path, **PREFLIGHT)
    assert (response.status_code, response.content) == (204, b"")
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "POST" in response["Access-Control-Allow-Methods"]
    assert "Content-Type" in response["Access-Control-Allow-Headers"]
    assert "X-API-Key" not in response["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in response


@pytest.mark.parametrize("path", KEYED)
def test_no_other_path_allows_another_origin(api: Api, path: str) -> None:
    for response in (
        api.get(path, **ORIGIN),
        api.call("OPTIONS", path, **PREFLIGHT),
        api.call("POST", path, {}, **ORIGIN),
    ):
        assert not [name for name in response.headers if name.lower().startswith("access-control")]


def test_no_cookie_is_set_on_any_of_them(db: None) -> None:
    client = Client()
    for path in (*PUBLIC, "/api/payment-requests"):
        assert not client.get(path).cookies
