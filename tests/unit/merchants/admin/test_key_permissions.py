"""Only staff with the permission can issue, rotate and revoke keys, and only with a form of the portal."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from merchants.models import ApiKey

Staff = Callable[..., Client]


def test_change_permission_alone_does_not_rotate_a_key(staff: Staff, api_key: tuple[ApiKey, str]) -> None:
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
