"""The checkout on a live server, and a browser."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.browsing import DESKTOP
from tests.embedding.conftest import create, service, troubles

__all__ = ["create", "service", "troubles"]

# The browser's driver keeps an event loop in this thread, beside which Django would refuse to ask the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture
def page(browser: Browser, troubles: list[str]) -> Iterator[Page]:
    """A fresh page at desktop width."""
    context = browser.new_context(viewport=DESKTOP)
    context.set_default_timeout(15_000)
    opened = context.new_page()
    opened.on("pageerror", lambda error: troubles.append(f"script: {error}"))
    opened.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    yield opened
    context.close()
