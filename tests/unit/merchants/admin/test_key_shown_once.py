"""A new key is shown once, in the response to its form."""

import logging
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from merchants.models import ApiKey
from tests.conftest import Api
from tests.threads import at_once

ADD = "/admin/merchants/apikey/add/"
KEY = re.compile(r"quitt_[0-9a-f]{40}")

Fill = Callable[..., dict[str, Any]]


def keys_in(response: Any) -> list[str]:
    return KEY.findall(response.content.decode())


def everything_stored() -> str:
    """Return all text and byte columns of all tables as text. Bytes are shown in hex and as characters."""
    stored = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                for value in row:
                    stored.append(str(value))
                    if isinstance(value, bytes | memoryview):
                        stored.append(bytes(value).decode("latin-1"))
    return "\n".join(stored)


def test_form_response_shows_a_working_key(admin_client: Client, key_form: Fill) -> None:
    response = admin_client.post(ADD, key_form())
    assert response.status_code == 200
    (key,) = keys_in(response)
    assert Api(key).get("/api/webhooks").json()["error"]["code"] == "permission_denied"
    row = ApiKey.objects.get()
    assert (row.name, row.permissions, row.expires_at) == ("web shop", ["create_payments"], None)


def test_nothing_keeps_the_key(
    admin_client: Client, key_form: Fill, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    (key,) = keys_in(admin_client.post(ADD, key_form()))
    row = ApiKey.objects.get()
    for path in (
        "/admin/merchants/apikey/",
        f"/admin/merchants/apikey/{row.pk}/change/",
        f"/admin/merchants/apikey/{row.pk}/history/",
        f"/admin/merchants/merchant/{row.merchant_id}/change/",
    ):
        page = admin_client.get(path)
        assert page.status_code == 200
        assert row.prefix in page.content.decode()
        assert keys_in(page) == []
    assert keys_in(admin_client.get("/admin/")) == []
    secret_part = key.removeprefix(row.prefix)
    assert secret_part not in everything_stored()
    assert secret_part not in str(dict(admin_client.session))
    assert secret_part not in caplog.text


def test_key_is_in_no_url_cookie_or_cache(admin_client: Client, key_form: Fill) -> None:
    response = admin_client.post(ADD, key_form())
    assert "Location" not in response
    assert "no-store" in response["Cache-Control"]
    assert response["Referrer-Policy"] == "same-origin"
    headers = str(response.headers) + response.cookies.output()
    assert KEY.search(headers) is None


def test_a_form_sent_again_makes_no_second_key_and_shows_none(admin_client: Client, key_form: Fill) -> None:
    form = key_form()
    admin_client.post(ADD, form)
    again = admin_client.post(ADD, form, follow=True)
    assert keys_in(again) == []
    assert "This form was already submitted" in again.content.decode()
    assert ApiKey.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_form_sent_many_times_at_one_moment_makes_one_key(
    admin_client: Client, admin_user: Any, key_form: Fill
) -> None:
    form = key_form()

    def send() -> list[str]:
        client = Client()
        client.cookies = admin_client.cookies
        return keys_in(client.post(ADD, form))

    shown = at_once([send] * 6)
    assert sum(len(keys) for keys in shown) == 1
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"permissions": ["print_money"]},
        {"merchant": "01890000-0000-7000-8000-000000000000"},
        {"merchant": "nobody"},
        {"expires_at_0": "2020-01-01", "expires_at_1": "00:00"},
        {"expires_at_0": "soon", "expires_at_1": ""},
        {"name": "n" * 101},
        {"name": "till\u202eevil"},
        {"form_id": "no form"},
    ],
)
def test_a_wrong_form_makes_no_key(admin_client: Client, key_form: Fill, wrong: dict[str, Any]) -> None:
    response = admin_client.post(ADD, key_form(**wrong))
    assert response.status_code == 200
    assert response.context["errors"]
    assert keys_in(response) == []
    assert ApiKey.objects.count() == 0
