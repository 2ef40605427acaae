"""The browser rejects the checkout's files if they were altered in transit."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, Route, expect

Create = Callable[..., dict[str, Any]]
SOLANA = "/static/checkout/solana.js"
IMPORT = f"import('{SOLANA}').then(() => 'ran', () => 'rejected')"


def altered(route: Route) -> None:
    response = route.fetch()
    route.fulfill(response=response, body=response.text() + "\n;window.altered = true;")


def test_an_altered_script_does_not_run(page: Page, create: Create) -> None:
    page.route("**/checkout.js", altered)
    with page.expect_event("console", lambda message: "integrity" in message.text):
        page.goto(create()["payment_url"])
    assert page.evaluate("window.altered") is None
    expect(page.locator("#amount")).to_have_text("10.50")  # the page is shown, but its script did not run


def test_altered_import_does_not_run(page: Page, create: Create) -> None:
    url = create()["payment_url"]
    page.goto(url)
    assert page.evaluate(IMPORT) == "ran"
    page.route(f"**{SOLANA}", altered)
    page.goto(url)
    assert page.evaluate(IMPORT) == "rejected"
    assert page.evaluate("window.altered") is None


def test_altered_style_sheet_is_not_applied(page: Page, service: str) -> None:
    page.goto(service)
    assert page.evaluate("document.styleSheets.length") == 1
    page.route("**/sheets.css", altered)
    page.goto(service)
    assert page.evaluate("document.styleSheets.length") == 0
