"""Our own URL serves a merchant's logo. It is fetched under the rules for all URLs that merchants can set."""

import socket
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from chains.models import Token
from checkout.logos import MAX_BYTES, content_type_of, fetch_logo
from checkout.tasks import fetch_merchants_logo
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.support.payments.world import make_request
from tests.support.webhooks.raw_server import RawServer, raw_server, read_request
from tests.support.webhooks.receiver import Receiver, answer, running_receiver

pytestmark = pytest.mark.django_db
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"
SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture
def host() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


@pytest.fixture
def request_of_a_merchant_with_a_logo(merchant: Merchant, usdc: Token, host: Receiver) -> PaymentRequest:
    cache.clear()
    Merchant.objects.filter(pk=merchant.pk).update(logo_url=host.url)
    merchant.refresh_from_db()
    return make_request(merchant, usdc, "10", "0x" + "11" * 20)


@pytest.mark.parametrize(("content", "kind"), [(PNG, "image/png"), (SVG, "image/svg+xml")])
def test_fetched_logo_is_served_locally_with_scripts_disabled(
    client: Client,
    host: Receiver,
    request_of_a_merchant_with_a_logo: PaymentRequest,
    content: bytes,
    kind: str,
) -> None:
    request = request_of_a_merchant_with_a_logo
    host.answers = [answer(200, content)]
    page = f"/pay/{request.shortcode}"
    first = client.get(page).content.decode()
    assert "<img" not in first.split("</header>")[0]
    assert client.get(f"{page}/logo").status_code == 404
    assert host.received == []

    assert fetch_merchants_logo(str(request.merchant_id))
    html = client.get(page).content.decode()
    assert f'src="{page}/logo?v=' in html
    assert f'src="{host.url}' not in html
    image = client.get(f"{page}/logo")
    assert (image.content, image["Content-Type"]) == (content, kind)
    assert image["Content-Security-Policy"].endswith("sandbox")
    assert image["X-Content-Type-Options"] == "nosniff"
    assert len(host.received) == 1


@pytest.mark.parametrize(
    "answering",
    [
        answer(404),
        answer(200, b"<html>no image</html>"),
        answer(302, Location="/elsewhere.png"),
        answer(200, PNG + b"x" * MAX_BYTES),
        answer(200),
    ],
    ids=["missing", "a page", "elsewhere", "too large", "empty"],
)
def test_invalid_or_large_logo_is_hidden_and_not_refetched(
    client: Client,
    merchant: Merchant,
    host: Receiver,
    request_of_a_merchant_with_a_logo: PaymentRequest,
    answering: object,
) -> None:
    host.answers = [answering]  # type: ignore[list-item]
    assert not fetch_merchants_logo(str(merchant.pk))
    page = f"/pay/{request_of_a_merchant_with_a_logo.shortcode}"
    assert "/logo" not in client.get(page).content.decode()
    assert client.get(f"{page}/logo").status_code == 404
    assert len(host.received) == 1


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 1000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n3e8\r\n"]
)
def test_half_an_image_is_none(merchant: Merchant, framing: bytes) -> None:
    def break_off(connection: socket.socket, server: RawServer) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n" + framing + PNG)

    cache.clear()
    with raw_server(break_off) as half:
        merchant.logo_url = half.url
        assert fetch_logo(merchant).content_type == ""


def test_a_private_address_is_not_called(
    merchant: Merchant, host: Receiver, request_of_a_merchant_with_a_logo: PaymentRequest, settings: Settings
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False
    merchant.refresh_from_db()
    assert fetch_logo(merchant).content_type == ""
    assert host.received == []


@pytest.mark.parametrize(
    "content", [b"", b"GIF", b"<html><svg", b"RIFF0000WAVE", b"<?xml version='1.0'?><rss/>"]
)
def test_only_images_have_a_type(content: bytes) -> None:
    assert content_type_of(content) == ""
