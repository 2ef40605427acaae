"""Outside /api, pages also support HEAD. Pages without forms return 405 for other methods."""

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tests.conftest import Api
from tests.support.api.fixtures import CREATE, nothing_stored

PAGES = ["/", "/pay/222222222222", "/healthz", "/readyz", "/metrics"]
METHODS = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "FOO"]


def test_read_only_page_returns_405_for_other_methods(public: Api) -> None:
    for method, path in product(METHODS, PAGES):
        response = public.call(method, path, b"a=1")
        assert (response.status_code, response["Allow"]) == (405, "GET, HEAD"), (method, path)
        assert b"CSRF" not in response.content
    assert nothing_stored()


def test_an_unknown_page_is_404_for_every_method(public: Api) -> None:
    for method in [*METHODS, "GET", "HEAD"]:
        body = None if method in ("GET", "HEAD") else b"a=1"
        assert public.call(method, "/nowhere", body).status_code == 404, method


@pytest.mark.parametrize("path", [*PAGES, "/api/public/chains", "/api/public/payment-requests/{id}"])
def test_head_returns_the_headers_of_get_without_a_body(
    api: Api, public: Api, order: Callable[..., dict[str, Any]], path: str
) -> None:
    address = path.format(id=api.post(CREATE, order()).json()["id"])
    got, head = public.get(address), public.call("HEAD", address)
    assert head.status_code == got.status_code
    assert head["Content-Type"] == got["Content-Type"]
    assert (head.content, len(got.content) > 0) == (b"", True)


def test_the_service_says_what_it_is_at_its_own_address(public: Api) -> None:
    response = public.get("/")
    page = response.content.decode()
    assert response.status_code == 200
    assert "Quittance" in page
    assert 'href="/admin/"' in page
    assert "open the link that the shop gave you" in page
    assert "script-src 'self'" in response["Content-Security-Policy"]
