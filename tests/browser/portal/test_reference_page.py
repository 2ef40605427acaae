"""The API's reference page: drawn under a strict policy, from this service only, at desktop and phone width."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browsing import PHONE
from tests.pictures import picture
from tests.support.api.served import Service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = Service(tmp_path_factory.mktemp("service") / "web.log")
    yield running
    running.process.kill()


def test_reference_shows_each_call_from_one_host(page: Page, service: Service, troubles: list[str]) -> None:
    foreign: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((service.url, "data:", "blob:")):
            foreign.append(request.url)

    page.on("requestfinished", note)
    policies: list[str] = []
    page.on("response", lambda response: policies.append(response.headers.get("content-security-policy", "")))
    page.goto(service.url + "/api/docs")
    page.get_by_role("heading", name="Create a payment request").wait_for()
    for words in (
        "A payment in four calls",
        "payment.succeeded",
        "Simulate an outcome",
        "Build a route's transaction",
    ):
        assert page.get_by_role("heading", name=words).count(), words
    assert page.get_by_text("Needs an API key with the permission create_payments.").count()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("style[nonce]").count(), "Redoc's own styles carry the page's nonce"
    assert "unsafe" not in policies[0]
    assert "default-src 'none'" in policies[0]
    assert foreign == []
    assert troubles == []


def test_reference_shows_a_call_in_curl_and_python(page: Page, service: Service) -> None:
    page.goto(service.url + "/api/docs#operation/payment_requests.create")
    call = page.locator('[id="operation/payment_requests.create"]')
    expect(call.get_by_role("tab", name="curl")).to_have_attribute("aria-selected", "true")
    expect(call.locator("pre").first).to_contain_text(f"curl {service.url}/api/payment-requests")
    picture(page)
    call.get_by_role("tab", name="Python").click()
    expect(call.locator("pre").first).to_contain_text("client.payment_requests.create(")
