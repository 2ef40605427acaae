"""While PostgreSQL is read-only, the portal returns 503 with Retry-After, even if only the session would be written."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.db import close_old_connections, connection
from django.test import Client

from merchants.models import Merchant
from tests.support.portal.phone import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def read_only() -> Iterator[None]:
    """Make PostgreSQL reject this connection's writes, like a primary that became a standby."""
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    yield
    close_old_connections()  # as at the end of each request


@pytest.fixture
def portal(admin_user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(admin_user)
    client.get("/admin/")  # the session's first request
    return client


def test_form_is_503_and_stores_nothing(portal: Client) -> None:
    with read_only():
        response = portal.post("/admin/merchants/merchant/add/", {"name": "Bakery"})
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert not Merchant.objects.exists()


def test_signing_in_is_503_and_works_afterwards(client: Client, admin_user: User) -> None:
    admin_user.set_password(PASSWORD)
    admin_user.save()
    client.raise_request_exception = False
    form = {"username": admin_user.username, "password": PASSWORD}
    with read_only():
        assert client.post("/admin/login/", form).status_code == 503
    assert client.post("/admin/login/", form).status_code == 302


def test_page_that_only_saves_its_session_is_503(portal: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merchants.sign_in.sessions._SEEN_RESOLUTION", 0)  # each request saves its session
    with read_only():
        response = portal.get("/admin/")
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert portal.get("/admin/").status_code == 200
