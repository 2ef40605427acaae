"""Customers' pages and public calls share one limit per client address."""

from typing import Any

import pytest
from django.test import Client
from limits import parse


@pytest.mark.django_db
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    "path", ["/refunds/Vn4KpJ8sLd3Y", "/refunds/Vn4KpJ8sLd3Y/sign/choice", "/pay/7hRkWm2QxT9c"]
)
def test_customers_pages_count_toward_the_public_limit(settings: Any, path: str) -> None:
    settings.RATE_LIMIT_PUBLIC = parse("2/hour")
    client = Client()
    assert [client.get(path).status_code for _ in range(4)] == [404, 404, 429, 429]
    page = client.get(path)
    assert page["Content-Type"].startswith("text/html")
    assert int(page["Retry-After"]) > 0
    assert client.get("/api/public/chains").json()["error"]["code"] == "rate_limited"
