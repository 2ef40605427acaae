"""A checkout leads to the addresses that its merchant stored, and to no other."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from payments.models import PaymentRequest
from tests.conftest import Api
from tests.embedding.shop import Shop

Create = Callable[..., dict[str, Any]]
NAMES = (
    "redirect_url", "cancel_url", "redirect", "redirect_uri", "return", "return_url", "return_to",
    "returnUrl", "success_url", "next", "url", "uri", "to", "target", "dest", "destination", "continue",
    "goto", "out", "link", "back", "cancel", "ref", "payment_url", "support_url", "origin",
    "embed_origins", "logo_url", "lang", "status", "payment_request_id",
)  # fmt: skip
PLACES = (
    "https://evil.example/",
    "//evil.example",
    "https:evil.example",
    "\\\\evil.example",
    "javascript:alert(1)",
)


@pytest.mark.parametrize("place", PLACES)
def test_no_parameter_leads_anywhere(public: Api, api: Api, order: Create, place: str) -> None:
    stored = {"redirect_url": "https://shop.example/ok", "cancel_url": "https://shop.example/no"}
    request = api.post("/api/payment-requests", order(**stored)).json()
    query = urlencode(dict.fromkeys(NAMES, place))
    for change in ({}, {"status": "cancelled"}, {"status": "completed", "amount_paid": 10_500_000}):
        PaymentRequest.objects.filter(pk=request["id"]).update(**change)
        for path in (f"/pay/{request['shortcode']}", f"/api/public/payment-requests/{request['id']}", "/"):
            answer = public.get(f"{path}?{query}")
            assert answer.status_code == 200
            assert "Location" not in answer.headers
            assert "Refresh" not in answer.headers
            assert "evil.example" not in answer.content.decode()
            assert "javascript:" not in answer.content.decode()


def test_no_header_of_the_call_leads_anywhere(public: Api, api: Api, order: Create) -> None:
    request = api.post("/api/payment-requests", order()).json()
    for name in (
        "Host",
        "X-Forwarded-Host",
        "Forwarded",
        "X-Original-URL",
        "X-Rewrite-URL",
        "Referer",
        "Origin",
    ):
        answer = public.get(f"/pay/{request['shortcode']}", **{name: "https://evil.example/"})
        assert answer.status_code in (200, 400), name
        assert "evil.example" not in answer.content.decode(), name
        assert "Location" not in answer.headers


def test_the_page_goes_where_the_merchant_said(page: Page, shop: Shop, create: Create) -> None:
    request = create(cancel_url=shop.put("/basket", "<h1>Your basket</h1>"))
    PaymentRequest.objects.filter(pk=request["id"]).update(status="cancelled")
    query = urlencode(dict.fromkeys(NAMES, "https://evil.example/"))
    page.goto(f"{request['payment_url']}?{query}#https://evil.example/")
    expect(page.get_by_role("heading", name="Your basket")).to_be_visible(timeout=10_000)
    assert page.url.startswith(f"{shop.origin}/basket?")
