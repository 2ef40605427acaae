"""A page without wallets. The wallets inside frames come from tests/support/embedding/wallets.py."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browsing import DESKTOP


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, troubles: list[str]) -> Iterator[Page]:
    """A fresh page, at desktop width unless a test names another device."""
    context = browser.new_context(**{"viewport": DESKTOP, **getattr(request, "param", {})})
    context.set_default_timeout(30_000)
    opened = context.new_page()
    opened.on("pageerror", lambda error: troubles.append(f"script: {error}"))
    opened.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
