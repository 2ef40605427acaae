"""Calls of customers' pages are counted by payment request and client address."""

from typing import Any

import pytest
from django.test import Client, RequestFactory
from limits import parse

from config.api.errors import ApiError
from config.api.limits.public_limits import count_expensive


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
    assert client.get("/pay/another-page").status_code == 404, "another request from the same address"


@pytest.mark.django_db
@pytest.mark.usefixtures("patient")
def test_customers_behind_one_address_do_not_limit_each_other(settings: Any) -> None:
    """Eight customers share the address of an office or a mobile network. Each has a different payment request."""
    settings.RATE_LIMIT_EXPENSIVE = parse("2/hour")
    office = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1")
    for customer in range(10):
        for _ in range(2):
            count_expensive(office, customer)
            del office.is_counted_as_expensive
        with pytest.raises(ApiError, match="Too many calls"):
            count_expensive(office, customer)
    with pytest.raises(ApiError, match="Too many calls"):
        count_expensive(office, "an eleventh customer")
    count_expensive(RequestFactory().get("/", REMOTE_ADDR="192.0.2.2"), 1)
