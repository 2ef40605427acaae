"""The portal shows webhooks read-only and without secrets."""

from collections.abc import Callable
from typing import Any

from django.contrib.admin.utils import quote
from django.test import Client

from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.receiver import Receiver, answer
from webhooks.models import Delivery, Endpoint, Event


def test_the_pages_show_what_happened_and_no_secret(
    admin_client: Client,
    receiver: Receiver,
    endpoint: Endpoint,
    secret: str,
    record: Callable[..., Event],
    settings: Any,
) -> None:
    files = "django.contrib.staticfiles.storage.StaticFilesStorage"  # tests run without collectstatic
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": files}}
    event = record(data={"amount": 10**30})
    receiver.answers = [answer(500, b"<script>alert(1)</script>")]
    deliver_next()
    delivery = Delivery.objects.get()
    pages = {}
    for path in (
        "endpoint/",
        f"endpoint/{endpoint.pk}/change/",
        "event/",
        f"event/{quote(event.pk)}/change/",
        "delivery/",
        f"delivery/{quote(delivery.pk)}/change/",
    ):
        response = admin_client.get(f"/admin/webhooks/{path}")
        assert response.status_code == 200
        pages[path] = response.content.decode()
        assert secret not in pages[path]
        assert "whsec_" not in pages[path]
        assert "<script>alert" not in pages[path]
    assert str(10**30) in pages[f"event/{quote(event.pk)}/change/"]
    assert "Answered 500" in pages[f"delivery/{quote(delivery.pk)}/change/"]
