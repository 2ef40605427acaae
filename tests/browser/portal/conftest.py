"""The portal in a browser, without the local world."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from tests.browser.windows import page, troubles

__all__ = ["page", "troubles"]


@pytest.fixture
def portal(live_server: LiveServer, page: Page, settings: Any) -> str:
    """The URL of the portal, with an operator signed in."""
    files = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": files}}
    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    session = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": f"{live_server.url}/admin"}])
    return f"{live_server.url}/admin/"


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
