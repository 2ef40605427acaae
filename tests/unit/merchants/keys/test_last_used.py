"""`last_used_at` is exact to the minute, and needs no write for most calls."""

from datetime import timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from merchants.models import ApiKey, Merchant
from merchants.services import issue_key, revoke_key
from tests.conftest import Api

PATH = "/api/payment-requests/01890000-0000-7000-8000-000000000000"


def last_used(row: ApiKey) -> object:
    row.refresh_from_db()
    return row.last_used_at


def writes_of(api: Api) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        api.get(PATH)
    return [query["sql"] for query in queries if query["sql"].startswith(("UPDATE", "INSERT"))]


def test_the_first_call_is_noted(api_key: tuple[ApiKey, str], api: Api) -> None:
    row, _ = api_key
    assert row.last_used_at is None
    before = timezone.now()
    assert len(writes_of(api)) == 1
    row.refresh_from_db()
    assert row.last_used_at is not None
    assert before <= row.last_used_at <= timezone.now()


def test_further_calls_within_the_minute_write_nothing(api_key: tuple[ApiKey, str], api: Api) -> None:
    row, _ = api_key
    api.get(PATH)
    noted = last_used(row)
    assert writes_of(api) == []
    assert writes_of(api) == []
    assert last_used(row) == noted


def test_a_call_after_the_minute_is_noted_again(api_key: tuple[ApiKey, str], api: Api) -> None:
    row, _ = api_key
    old = timezone.now() - timedelta(minutes=1)
    ApiKey.objects.filter(pk=row.pk).update(last_used_at=old)
    assert len(writes_of(api)) == 1
    row.refresh_from_db()
    assert row.last_used_at is not None
    assert row.last_used_at > old


def test_a_refused_call_is_no_use(merchant: Merchant) -> None:
    row, key = issue_key(merchant=merchant, permissions=[])
    revoke_key(row)
    assert writes_of(Api(key)) == []
    assert last_used(row) is None
