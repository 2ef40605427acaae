"""Without an `events` process, the page polls instead of opening a stream."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Api

pytestmark = pytest.mark.django_db


def test_web_process_rejects_streams(checkout: Callable[..., dict[str, Any]], public: Api) -> None:
    request = checkout()
    for name in (request["id"], request["shortcode"]):
        answer = public.get(f"/api/public/payment-requests/{name}/events", HTTP_ACCEPT="text/event-stream")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "resource_missing")
        assert "Poll the payment request" in answer.json()["error"]["message"]


def test_page_names_the_stream_only_if_it_is_served(
    checkout: Callable[..., dict[str, Any]], public: Api, settings: Any
) -> None:
    request = checkout()
    path = f"/pay/{request['shortcode']}"
    page = public.get(path)
    assert "data-events" not in page.content.decode()
    assert "connect-src 'self';" in page["Content-Security-Policy"]

    settings.EVENTS_URL = "https://events.example.com"
    page = public.get(path)
    url = f"https://events.example.com/api/public/payment-requests/{request['id']}/events"
    assert f'data-events="{url}"' in page.content.decode()
    assert "connect-src 'self' https://events.example.com;" in page["Content-Security-Policy"]
