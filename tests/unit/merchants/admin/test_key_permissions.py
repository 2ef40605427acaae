"""Only staff with the permission issue, rotate and revoke keys, and only by a form of the portal's own."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from merchants.models import ApiKey

ADD = "/admin/merchants/apikey/add/"
Staff = Callable[..., Client]


def test_staff_without_the_permission_issue_nothing(
    staff: Staff, key_form: Callable[..., dict[str, Any]]
) -> None:
    client = staff("merchants.view_apikey", "merchants.change_apikey", "merchants.view_merchant")
    assert client.get(ADD).status_code == 403
    assert client.post(ADD, key_form()).status_code == 403
    assert ApiKey.objects.count() == 0


def test_staff_with_the_permission_issue_a_key(staff: Staff, key_form: Callable[..., dict[str, Any]]) -> None:
    response = staff("merchants.add_apikey").post(ADD, key_form())
    assert response.status_code == 200
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("permissions", [(), ("merchants.view_apikey",), ("merchants.add_apikey",)])
@pytest.mark.parametrize("action", ["rotate", "revoke"])
def test_those_who_may_not_change_keys_neither_rotate_nor_revoke(
    staff: Staff, api_key: tuple[ApiKey, str], permissions: tuple[str, ...], action: str
) -> None:
    client = staff(*permissions)
    path = f"/admin/merchants/apikey/{api_key[0].pk}/{action}/"
    assert client.get(path).status_code == 403
    assert client.post(path, {"overlap": "0"}).status_code == 403
    unchanged = ApiKey.objects.get()
    assert (unchanged.revoked_at, unchanged.expires_at) == (None, None)


def test_changing_keys_is_not_enough_to_rotate_one_since_that_issues_another(
    staff: Staff, api_key: tuple[ApiKey, str]
) -> None:
    client = staff("merchants.change_apikey")
    assert client.post(f"/admin/merchants/apikey/{api_key[0].pk}/rotate/", {}).status_code == 403
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("path", ["add/", "{key}/rotate/", "{key}/revoke/", "{key}/change/"])
def test_a_form_of_another_site_does_nothing(admin_user: Any, api_key: tuple[ApiKey, str], path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    address = "/admin/merchants/apikey/" + path.format(key=api_key[0].pk)
    assert client.post(address, {"overlap": "0", "name": "mine now"}).status_code == 403
    unchanged = ApiKey.objects.get()
    assert (unchanged.name, unchanged.revoked_at, unchanged.expires_at) == ("test", None, None)


def test_nobody_signed_in_is_sent_to_the_login(client: Client, api_key: tuple[ApiKey, str]) -> None:
    for path in ("", "add/", f"{api_key[0].pk}/rotate/", f"{api_key[0].pk}/revoke/"):
        response = client.post(f"/admin/merchants/apikey/{path}", {"overlap": "0"})
        assert response.status_code == 302
        assert response["Location"].startswith("/admin/login/")
    assert ApiKey.objects.get().revoked_at is None


@pytest.mark.parametrize("model", ["merchants/apikey", "merchants/merchant"])
def test_nothing_is_deleted(admin_client: Client, api_key: tuple[ApiKey, str], model: str) -> None:
    pk = api_key[0].pk if model.endswith("apikey") else api_key[0].merchant_id
    assert admin_client.post(f"/admin/{model}/{pk}/delete/", {"post": "yes"}).status_code == 403
    listed = admin_client.get(f"/admin/{model}/").content.decode()
    assert "delete_selected" not in listed
    assert ApiKey.objects.count() == 1
