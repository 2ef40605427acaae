"""A key can be renamed, rotated with an overlap, or revoked immediately. Its permissions never change."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from merchants.models import ApiKey, AuditEntry
from merchants.services import revoke_key
from tests.conftest import Api

KEY = re.compile(r"quitt_[0-9a-f]{40}")


def at(key: ApiKey, page: str) -> str:
    return f"/admin/merchants/apikey/{key.pk}/{page}/"


def rotation(**chosen: Any) -> dict[str, Any]:
    return {"overlap": "24h", "lifetime": "", "form_id": str(uuid.uuid4()), **chosen}


def code(key: str) -> str:
    """Return the API's error code for the key. `permission_denied` means that the key is valid."""
    response = Api(key).get("/api/payment-requests/01890000-0000-7000-8000-000000000000")
    return str(response.json()["error"]["code"])


def test_revoking_closes_the_key_at_once(admin_client: Client, api_key: tuple[ApiKey, str]) -> None:
    row, key = api_key
    assert code(key) == "resource_missing"
    asked = admin_client.get(at(row, "revoke"))
    assert asked.status_code == 200
    assert code(key) == "resource_missing"
    assert admin_client.post(at(row, "revoke")).status_code == 302
    assert code(key) == "api_key_revoked"
    assert LogEntry.objects.get().get_change_message() == "Revoked."


def test_revoking_again_changes_nothing(admin_client: Client, api_key: tuple[ApiKey, str]) -> None:
    row, _ = api_key
    admin_client.post(at(row, "revoke"))
    first = ApiKey.objects.get().revoked_at
    admin_client.post(at(row, "revoke"))
    assert ApiKey.objects.get().revoked_at == first


@pytest.mark.parametrize(
    ("overlap", "length"),
    [("1h", timedelta(hours=1)), ("24h", timedelta(hours=24)), ("7d", timedelta(days=7))],
)
def test_rotating_leaves_the_old_key_its_overlap(
    admin_client: Client, api_key: tuple[ApiKey, str], overlap: str, length: timedelta
) -> None:
    row, key = api_key
    before = timezone.now()
    response = admin_client.post(at(row, "rotate"), rotation(overlap=overlap))
    (new_key,) = KEY.findall(response.content.decode())
    assert "no-store" in response["Cache-Control"]
    old, new = ApiKey.objects.get(pk=row.pk), ApiKey.objects.exclude(pk=row.pk).get()
    assert old.expires_at is not None
    assert before + length <= old.expires_at <= timezone.now() + length
    assert (new.merchant, new.name, new.permissions) == (old.merchant, old.name, old.permissions)
    assert new.expires_at is None
    assert code(key) == code(new_key) == "resource_missing"


def test_rotating_without_an_overlap_closes_the_old_key_now(
    admin_client: Client, api_key: tuple[ApiKey, str]
) -> None:
    row, key = api_key
    response = admin_client.post(at(row, "rotate"), rotation(overlap="0"))
    (new_key,) = KEY.findall(response.content.decode())
    assert code(key) == "api_key_revoked"
    assert code(new_key) == "resource_missing"


def test_new_key_expires_at_its_chosen_time(admin_client: Client, api_key: tuple[ApiKey, str]) -> None:
    row, _ = api_key
    admin_client.post(at(row, "rotate"), rotation(lifetime="90"))
    ends = ApiKey.objects.exclude(pk=row.pk).get().expires_at
    assert ends is not None
    assert timedelta(days=89, hours=23) < ends - timezone.now() <= timedelta(days=90)


def test_a_rotation_sent_again_makes_no_second_key(admin_client: Client, api_key: tuple[ApiKey, str]) -> None:
    form = rotation()
    admin_client.post(at(api_key[0], "rotate"), form)
    again = admin_client.post(at(api_key[0], "rotate"), form, follow=True)
    assert KEY.search(again.content.decode()) is None
    assert ApiKey.objects.count() == 2


def test_a_closed_key_is_not_rotated(admin_client: Client, api_key: tuple[ApiKey, str]) -> None:
    revoke_key(api_key[0])
    response = admin_client.post(at(api_key[0], "rotate"), rotation(), follow=True)
    assert KEY.search(response.content.decode()) is None
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("wrong", [{"overlap": "1y"}, {"overlap": ""}, {"lifetime": "9000"}, {"form_id": ""}])
def test_a_wrong_rotation_changes_nothing(
    admin_client: Client, api_key: tuple[ApiKey, str], wrong: dict[str, Any]
) -> None:
    response = admin_client.post(at(api_key[0], "rotate"), rotation(**wrong))
    assert response.status_code == 200
    assert ApiKey.objects.get().expires_at is None


def test_name_and_expiry_are_changed_and_nothing_else(
    admin_client: Client, api_key: tuple[ApiKey, str]
) -> None:
    row, key = api_key
    admin_client.post(
        at(row, "change"),
        {
            "name": "till",
            "expires_at_0": "2099-01-01",
            "expires_at_1": "00:00:00",
            "permissions": ["print_money"],
            "digest": "00",
            "prefix": "quitt_000000",
            "merchant": str(uuid.uuid4()),
        },
    )
    changed = ApiKey.objects.get()
    assert (changed.name, changed.expires_at and changed.expires_at.year) == ("till", 2099)
    assert (changed.digest, changed.prefix) == (row.digest, row.prefix)
    assert (changed.permissions, changed.merchant_id) == (row.permissions, row.merchant_id)
    assert code(key) == "resource_missing"


def opened(client: Client, key: ApiKey) -> dict[str, str]:
    """Open the key's page and return the fields that a browser would post."""
    form = client.get(at(key, "change")).context["adminform"].form
    expires_at = form["expires_at"].value()
    ends = timezone.localtime(expires_at) if expires_at else None
    return {
        "name": form["name"].value(),
        "expires_at_0": f"{ends:%Y-%m-%d}" if ends else "",
        "expires_at_1": f"{ends:%H:%M:%S}" if ends else "",
        "shown_expiry": form["shown_expiry"].value(),
    }


def test_older_tab_does_not_extend_a_rotated_key(admin_client: Client, api_key: tuple[ApiKey, str]) -> None:
    row, _ = api_key
    older = opened(admin_client, row)
    admin_client.post(at(row, "rotate"), rotation(overlap="1h"))
    ends = ApiKey.objects.get(pk=row.pk).expires_at
    assert ends is not None
    later = {"expires_at_0": "2099-01-01", "expires_at_1": "00:00:00"}
    for change in ({"name": "till"}, later):
        response = admin_client.post(at(row, "change"), {**older, **change})
        assert "Open the page again." in response.content.decode()
        old = ApiKey.objects.get(pk=row.pk)
        assert (old.name, old.expires_at) == (row.name, ends)
    assert not AuditEntry.objects.filter(what="key_changed").exists()


def test_rotated_key_is_renamed_and_its_expiry_stays(
    admin_client: Client, api_key: tuple[ApiKey, str]
) -> None:
    row, _ = api_key
    admin_client.post(at(row, "rotate"), rotation(overlap="1h"))
    ends = ApiKey.objects.get(pk=row.pk).expires_at
    assert 'name="shown_expiry"' in admin_client.get(at(row, "change")).content.decode()
    admin_client.post(at(row, "change"), {**opened(admin_client, row), "name": "till"})
    old = ApiKey.objects.get(pk=row.pk)
    assert (old.name, old.expires_at) == ("till", ends)
    assert AuditEntry.objects.get(what="key_changed").detail == "name"


def test_a_revoked_key_stays_as_it_is(admin_client: Client, api_key: tuple[ApiKey, str]) -> None:
    revoke_key(api_key[0])
    response = admin_client.post(at(api_key[0], "change"), {"name": "till"})
    assert response.status_code == 403
    assert ApiKey.objects.get().name == "test"


@pytest.mark.parametrize("key_id", ["99999999999999999999999", "x", "0"])
def test_an_impossible_key_is_no_error_of_ours(admin_client: Client, db: None, key_id: str) -> None:
    for page in ("rotate", "revoke", "change"):
        assert admin_client.get(f"/admin/merchants/apikey/{key_id}/{page}/").status_code in (302, 404)
