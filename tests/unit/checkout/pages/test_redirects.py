"""A page leads only to the URLs that its merchant stored."""

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import pytest

from payments.models import PaymentRequest
from tests.conftest import Api

Create = Callable[..., dict[str, Any]]
# The parameter names that other services use for the return URL.
NAMES = (
    "redirect_url", "cancel_url", "redirect", "redirect_uri", "return", "return_url", "return_to",
    "returnUrl", "success_url", "next", "url", "uri", "to", "target", "dest", "destination", "continue",
    "goto", "out", "link", "back", "cancel", "ref", "payment_url", "support_url", "origin",
    "embed_origins", "logo_url", "lang", "status", "payment_request_id",
)  # fmt: skip
HERE, SHOP = "http://testserver", "https://shop.example"
PLACES = (
    "https://evil.example/",
    "//evil.example",
    "https:evil.example",
    "\\\\evil.example",
    "javascript:alert(1)",
)


TEXTS = ("og:title", "og:description", "og:site_name", "description")
ADDRESSES = ("href", "src", "action", "formaction", "data-value", "data-solana", "content")


class Links(HTMLParser):
    """The URLs in a page, and the data of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.data = ""
        self._in_script = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_script = tag == "script"
        known = dict(attrs)
        is_text = tag == "meta" and (known.get("property") or known.get("name")) in TEXTS
        self.addresses += [
            value
            for name, value in attrs
            if name in ADDRESSES and value and not (is_text and name == "content")
        ]

    def handle_data(self, data: str) -> None:
        self.data += data if self._in_script else ""

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def origins(self) -> set[str]:
        """Return the origins of the URLs, relative to `HERE`. For a URL without an origin, return its scheme."""
        read = (urlsplit(urljoin(HERE, address.replace("\\", "/"))) for address in self.addresses)
        return {f"{place.scheme}://{place.netloc}" if place.netloc else place.scheme for place in read}


@pytest.mark.parametrize("place", PLACES)
def test_query_parameter_never_becomes_a_link(public: Api, api: Api, order: Create, place: str) -> None:
    stored = {"redirect_url": f"{SHOP}/ok", "cancel_url": f"{SHOP}/no"}
    request = api.post("/api/payment-requests", order(**stored)).json()
    query = urlencode(dict.fromkeys(NAMES, place))
    for change in ({}, {"status": "cancelled"}, {"status": "completed", "amount_paid": 10_500_000}):
        PaymentRequest.objects.filter(pk=request["id"]).update(**change)
        for path in (f"/pay/{request['shortcode']}", "/"):
            response = public.get(f"{path}?{query}")
            assert response.status_code == 200
            assert not response.headers.keys() & {"Location", "Refresh"}
            links = Links(response.content.decode())
            assert len(links.addresses) > 3
            assert links.origins() <= {HERE, SHOP}
            assert "evil.example" not in links.data
        details = public.get(f"/api/public/payment-requests/{request['id']}?{query}")
        assert "evil.example" not in details.content.decode()


def test_request_header_never_becomes_a_link(public: Api, api: Api, order: Create) -> None:
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
        response = public.get(f"/pay/{request['shortcode']}", **{name: "https://evil.example/"})
        assert response.status_code in (200, 400), name
        assert "evil.example" not in response.content.decode(), name
        assert "Location" not in response.headers
