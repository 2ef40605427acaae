"""The documentation site in a browser: found by searching, readable on a phone, and loaded from one host."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.browsing import DESKTOP, PHONE
from tests.loopback import serving
from tests.support.docs.site import addresses, built

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    handler = partial(_Handler, directory=str(built()))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as url:
        yield url


@pytest.fixture
def outside(site: str) -> list[str]:
    """Collects the pages' requests to other hosts."""
    return []


def _page(browser: "Browser", site: str, size: dict[str, int], outside: list[str]) -> "Page":
    page = browser.new_context(viewport=size).new_page()  # type: ignore[arg-type]
    local = (site, "data:", "blob:")
    page.on("request", lambda request: None if request.url.startswith(local) else outside.append(request.url))
    return page


def test_pages_fit_a_phone_and_load_from_one_host(browser: "Browser", site: str, outside: list[str]) -> None:
    page = _page(browser, site, PHONE, outside)
    # Without its index, the search costs nothing. Otherwise each page would build the index again, for seconds.
    page.route("**/search_index.json", lambda route: route.abort())
    paths = addresses(built())
    assert len(paths) > 80
    wide = []
    for path in paths:
        page.goto(site + path)
        if page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]:
            wide.append(path)
    page.context.close()
    assert wide == []
    assert outside == []


def test_search_leads_to_the_api_call(browser: "Browser", site: str, outside: list[str]) -> None:
    page = _page(browser, site, DESKTOP, outside)
    # The theme's search starts once a worker has loaded the index of all pages.
    with page.expect_response(lambda response: response.url.endswith("search_index.json"), timeout=120_000):
        page.goto(site + "/")
        page.get_by_role("textbox", name="Search").click()
    # The theme listens for keys, which `fill` doesn't press.
    page.get_by_role("textbox", name="Search").press_sequentially("cancels an active payment request")
    page.locator(".md-search-result__meta", has_text="matching").wait_for(timeout=120_000)
    page.locator('.md-search-result__link[href*="reference/payment-requests"]').first.click()
    page.wait_for_url("**/reference/payment-requests/**")
    page.get_by_role("heading", name="Cancel a payment request").wait_for()
    page.context.close()
    assert outside == []


def test_diagrams_are_drawn_on_the_page(browser: "Browser", site: str, outside: list[str]) -> None:
    page = _page(browser, site, DESKTOP, outside)
    page.goto(site + "/states/")
    # The theme draws each diagram into a closed shadow tree. Outside, only a block with a height is visible.
    page.wait_for_function(
        "() => { const all = document.querySelectorAll('div.mermaid');"
        " return all.length === 4 && [...all].every((one) => one.offsetHeight > 100); }"
    )
    page.context.close()
    assert outside == []
