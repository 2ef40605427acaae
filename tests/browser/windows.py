"""A page in a window of a desktop and in one of a phone, for the tests that import these fixtures."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browsing import DESKTOP, PHONE

# For what a page does rather than how it looks: in one window instead of both.
ON_DESKTOP = pytest.mark.parametrize("page", [DESKTOP], ids=["desktop"], indirect=True)
ON_PHONE = pytest.mark.parametrize("page", [PHONE], ids=["phone"], indirect=True)


@pytest.fixture
def troubles() -> list[str]:
    """What the page complained about: script errors, refused content, failed requests."""
    return []


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def page(request: pytest.FixtureRequest, browser: Browser, troubles: list[str]) -> Iterator[Page]:
    """A fresh page at desktop and at phone width."""
    context = browser.new_context(viewport=request.param)
    context.set_default_timeout(60_000)
    opened = context.new_page()
    opened.on("pageerror", lambda error: troubles.append(f"script: {error}"))
    opened.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
