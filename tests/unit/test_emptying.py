"""Tests that commit leave empty tables, whatever their foreign keys, except Django's own rows."""

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command

from merchants.models import ApiKey, Merchant
from merchants.services import issue_key


@pytest.mark.django_db(transaction=True)
def test_flush_removes_related_rows_but_keeps_permissions() -> None:
    issue_key(merchant=Merchant.objects.create(name="Shop"), permissions=["create_payments"], name="key")
    own = Permission.objects.count(), ContentType.objects.count()
    call_command("flush", verbosity=0, interactive=False)
    assert not Merchant.objects.exists()
    assert not ApiKey.objects.exists()
    assert (Permission.objects.count(), ContentType.objects.count()) == own
    assert own[0] > 0
