"""Keys that could create refunds before `create_refunds` existed have it, and new keys if requested."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import connection

from merchants.models import ApiKey, Merchant
from merchants.services import issue_key, rotate_key
from tests.unit.merchants.test_commands import run

MIGRATION: Any = import_module("merchants.migrations.0016_create_refunds")

pytestmark = pytest.mark.django_db


def permissions_by_name() -> dict[str, list[str]]:
    return {key.name: key.permissions for key in ApiKey.objects.all()}


def migrate(function: Any) -> None:
    with connection.schema_editor(atomic=False) as editor:
        function(None, editor)


def test_migration_grants_refunds_to_keys_that_create(
    merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MIGRATION, "_BATCH", 2)
    for number in range(5):
        issue_key(
            merchant=merchant, permissions=["create_payments", "manage_webhooks"], name=f"shop {number}"
        )
    issue_key(merchant=merchant, permissions=["manage_webhooks"], name="hooks")
    issue_key(merchant=merchant, permissions=[], name="reader")
    before = permissions_by_name()
    migrate(MIGRATION.grant)
    every = ["create_payments", "create_refunds", "manage_webhooks"]
    shops = {f"shop {number}": every for number in range(5)}
    assert permissions_by_name() == {**shops, "hooks": ["manage_webhooks"], "reader": []}
    migrate(MIGRATION.grant)
    assert permissions_by_name()["shop 0"] == every
    migrate(MIGRATION.withdraw)
    assert permissions_by_name() == before


def test_rotated_key_keeps_its_permissions(merchant: Merchant) -> None:
    for permissions in (["create_payments"], ["create_payments", "create_refunds"]):
        row, _ = issue_key(merchant=merchant, permissions=permissions)
        assert rotate_key(row, overlap=timedelta())[0].permissions == permissions


def test_command_grants_refunds_only_if_requested(merchant: Merchant) -> None:
    run("create_api_key", merchant.name, "--permissions", "create_payments", "--name", "till")
    run("create_api_key", merchant.name, "--permissions", "create_refunds", "--name", "back office")
    assert permissions_by_name() == {"till": ["create_payments"], "back office": ["create_refunds"]}
