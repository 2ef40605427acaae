"""A key has the permission `create_refunds` only if it was issued with it."""

from datetime import timedelta

import pytest

from merchants.models import ApiKey, Merchant
from merchants.services import issue_key, rotate_key
from tests.unit.merchants.test_commands import run

pytestmark = pytest.mark.django_db


def permissions_by_name() -> dict[str, list[str]]:
    return {key.name: key.permissions for key in ApiKey.objects.all()}


def test_rotated_key_keeps_its_permissions(merchant: Merchant) -> None:
    for permissions in (["create_payments"], ["create_payments", "create_refunds"]):
        row, _ = issue_key(merchant=merchant, permissions=permissions)
        assert rotate_key(row, overlap=timedelta())[0].permissions == permissions


def test_command_grants_refunds_only_if_requested(merchant: Merchant) -> None:
    run("create_api_key", merchant.name, "--permissions", "create_payments", "--name", "till")
    run("create_api_key", merchant.name, "--permissions", "create_refunds", "--name", "back office")
    assert permissions_by_name() == {"till": ["create_payments"], "back office": ["create_refunds"]}
