"""A shop on one origin, the checkout on another, and a browser in which they meet."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from merchants.models import Merchant
from tests.browsing import DESKTOP
from tests.conftest import Api
from tests.support.embedding.shop import Shop, open_shop

# The browser's driver keeps an event loop in this thread, beside which Django would refuse to ask the database.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")

Create = Callable[..., dict[str, Any]]


@pytest.fixture
def service(live_server: LiveServer, settings: Any) -> str:
    """The origin on which the checkout is."""
    origin = f"http://localhost:{live_server.thread.port}"
    settings.CHECKOUT_URL = settings.BASE_URL = origin
    return origin


@pytest.fixture
def create(service: str, api: Api, order: Create) -> Create:
    """Return a maker of payment requests, which gives the created object."""

    def create(**different: Any) -> dict[str, Any]:
        response = api.post("/api/payment-requests", order(**different))
        assert response.status_code == 201, response.content
        created: dict[str, Any] = response.json()
        return created

    return create


@pytest.fixture(scope="session")
def running_shop() -> Iterator[Shop]:
    with open_shop() as shop:
        yield shop


@pytest.fixture
def shop(running_shop: Shop, merchant: Merchant) -> Shop:
    """Alice's shop, whose origin is registered."""
    running_shop.pages.clear()
    running_shop.referrers.clear()
    Merchant.objects.filter(pk=merchant.pk).update(
        embed_origins=["https://other.example", running_shop.origin]
    )
    return running_shop


@pytest.fixture
def troubles() -> list[str]:
    """What the pages complained about: script errors, refused content."""
    return []


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, troubles: list[str]) -> Iterator[Page]:
    """A fresh page, at desktop width unless a test says otherwise."""
    context = browser.new_context(**{"viewport": DESKTOP, **getattr(request, "param", {})})
    context.set_default_timeout(30_000)
    opened = context.new_page()
    opened.on("pageerror", lambda error: troubles.append(f"script: {error}"))
    opened.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
    yield opened
    context.close()
