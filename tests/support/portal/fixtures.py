"""Portal users: an administrator, and staff with few permissions."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from merchants.models import Merchant
from merchants.staff.roles import SEE_EVERY_MERCHANT


@pytest.fixture
def staff(db: None) -> Callable[..., Client]:
    """Return a function that signs in staff. They see every merchant, and have only these permissions."""

    def sign_in(*permissions: str) -> Client:
        user = User.objects.create_user("bob", password="only for tests", is_staff=True)
        for name in (SEE_EVERY_MERCHANT, *permissions):
            app, codename = name.split(".")
            user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def key_form(admin_client: Client, merchant: Merchant) -> Callable[..., dict[str, Any]]:
    """Return a function that fills in the portal's form for a new key, with these changes."""

    def fill(**different: Any) -> dict[str, Any]:
        page = admin_client.get("/admin/merchants/apikey/add/")
        form_id = page.context["adminform"].form["form_id"].value()
        filled = {
            "merchant": str(merchant.pk),
            "name": "web shop",
            "permissions": ["create_payments"],
            "expires_at_0": "",
            "expires_at_1": "",
            "form_id": str(form_id),
        }
        return {**filled, **different}

    return fill
