"""Fixtures for a page in a desktop's or a phone's window. Tests import them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browsing import DESKTOP, PHONE

ON_PHONE = pytest.mark.parametrize("page", [PHONE], ids=["phone"], indirect=True)
ON_BOTH = pytest.mark.parametrize("page", [DESKTOP, PHONE], ids=["desktop", "phone"], indirect=True)


@pytest.fixture
def troubles() -> list[str]:
    """The page's errors: failed scripts, blocked content, failed requests."""
    return []


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, troubles: list[str]) -> Iterator[Page]:
    """A new page, as wide as a desktop unless a test names another size."""
    context = browser.new_context(viewport=getattr(request, "param", DESKTOP))
    context.set_default_timeout(60_000)
    opened = context.new_page()
    opened.on("pageerror", lambda error: troubles.append(f"script: {error}"))
    opened.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
