"""The samples in docs/embedding.md work unchanged in a shop's page."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from checkout.integrity import integrity
from payments.models import PaymentRequest
from tests.support.docs.pages import REPOSITORY, sample_with
from tests.support.embedding.shop import Shop

Create = Callable[..., dict[str, Any]]
PAGE = REPOSITORY / "docs" / "embedding.md"
ICON = '<link rel="icon" href="data:,">'
SERVICE, PAYMENT = "https://pay.example.com", "https://pay.example.com/pay/Pq2Fz2Mjsun8"


def shop_with(shop: Shop, sample: str, request: dict[str, Any], service: str, policy: str = "") -> str:
    """Serve a page that contains only the sample, with this payment; return its URL."""
    page = sample.replace(PAYMENT, request["payment_url"]).replace(SERVICE, service)
    return shop.put("/", f"<!doctype html>{ICON}<h1>Shop</h1>{page}", policy)


def test_sample_link_opens_a_dialog_and_ends_at_thanks(
    page: Page, shop: Shop, service: str, create: Create, troubles: list[str]
) -> None:
    shop.put("/thanks", ICON + "<h1>Thank you</h1>")
    request = create()
    page.goto(shop_with(shop, sample_with(PAGE, "html", "Quittance.open"), request, service))
    page.get_by_role("link", name="Pay with crypto").click()
    expect(page.frame_locator("iframe").locator("#amount")).to_have_text("10.50")
    PaymentRequest.objects.filter(pk=request["id"]).update(status="completed", amount_paid=10_500_000)
    page.frames[1].evaluate("dispatchEvent(new Event('online'))")
    page.wait_for_url(f"{shop.origin}/thanks?request={request['id']}")
    assert troubles == []


def test_sample_link_works_without_the_script(page: Page, shop: Shop, service: str, create: Create) -> None:
    page.route("**/quittance.js", lambda route: route.abort())
    request = create()
    page.goto(shop_with(shop, sample_with(PAGE, "html", "Quittance.open"), request, service))
    page.get_by_role("link", name="Pay with crypto").click()
    page.wait_for_url(request["payment_url"])


def test_pinned_sample_rejects_an_altered_script(
    page: Page, shop: Shop, service: str, create: Create
) -> None:
    pinned = shop_with(shop, sample_with(PAGE, "html", "integrity="), create(), service)
    page.goto(pinned)
    assert page.evaluate("Quittance.version") == 1
    page.route(
        "**/quittance.js",
        lambda route: route.fulfill(
            body="window.Quittance = 'altered'", headers={"Access-Control-Allow-Origin": "*"}
        ),
    )
    page.goto(pinned)
    assert page.evaluate("window.Quittance") is None


def test_sample_element_works_with_the_documented_policy(
    page: Page, shop: Shop, service: str, create: Create, troubles: list[str]
) -> None:
    entries = sample_with(PAGE, "text", "frame-src").strip().replace(SERVICE, service)
    entries = entries.replace("script-src", "script-src 'unsafe-inline'")  # the sample has an inline script
    policy = f"default-src 'none'; img-src data:; {entries}"
    page.goto(shop_with(shop, sample_with(PAGE, "html", "Quittance.mount"), create(), service, policy))
    expect(page.frame_locator("#payment iframe").locator("#amount")).to_have_text("10.50")
    expect(page).to_have_title("Payment: active")
    assert troubles == []


@pytest.mark.skipif(not shutil.which("openssl") or not shutil.which("curl"), reason="no openssl or curl here")
def test_documented_command_prints_the_scripts_digest(service: str, db: None) -> None:
    command = sample_with(PAGE, "sh", "openssl").replace(SERVICE, service)
    done = subprocess.run(
        ["bash", "-euc", command],
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, "no_proxy": "*"},
    )
    assert done.stdout.strip() == integrity("checkout/quittance.js")


def test_documented_options_are_complete() -> None:
    source = (REPOSITORY / "checkout/frontend/src/shop/quittance.d.ts").read_text()
    options = re.search(r"interface Options \{(.+?)\n\}", source, re.DOTALL)
    labels = re.search(r"interface Labels \{(.+?)\n\}", source, re.DOTALL)
    assert options
    assert labels
    text = PAGE.read_text()
    rows = set(re.findall(r"^\| `(\w+)", text, re.MULTILINE))
    assert rows == set(re.findall(r"^  (\w+)\??:", options[1], re.MULTILINE))
    for label in re.findall(r"^  (\w+):", labels[1], re.MULTILINE):
        assert f"`{label}`" in text
