"""A database dump contains no secrets. Encryption keys can be rotated."""

from django.db import connection

from merchants.models import Merchant
from tests.conftest import Api
from webhooks.models import Endpoint


def test_no_table_holds_a_secret(api: Api, merchant: Merchant) -> None:
    url = "https://shop.example/hook"
    first = api.put("/api/webhooks", {"url": url}).json()["secret"]
    second = api.put("/api/webhooks", {"url": url, "rotate_secret": True}).json()["secret"]
    dump = b""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            dump += "\n".join(row[0] for row in cursor.fetchall()).encode()
    endpoint = Endpoint.objects.get(merchant=merchant)
    dump += bytes(endpoint.secret_encrypted) + bytes(endpoint.previous_secret_encrypted or b"")
    assert b"shop.example" in dump
    for secret in (first, second):
        for shown in (b"whsec_", secret.encode(), secret.encode().hex().encode()):
            assert shown not in dump
