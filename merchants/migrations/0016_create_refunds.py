from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

import django.contrib.postgres.fields

_BATCH = 1000
# Each statement locks its own rows until it ends. Authentication reads keys without a lock, so no call waits.
_GRANT = """
    UPDATE merchants_apikey SET permissions = ARRAY(
        SELECT DISTINCT permission FROM unnest(array_append(permissions, 'create_refunds')) AS permission
        ORDER BY permission
    ) WHERE id IN (
        SELECT id FROM merchants_apikey
        WHERE 'create_payments' = ANY(permissions) AND NOT 'create_refunds' = ANY(permissions)
        LIMIT %s
    )
"""
_WITHDRAW = """
    UPDATE merchants_apikey SET permissions = array_remove(permissions, 'create_refunds') WHERE id IN (
        SELECT id FROM merchants_apikey WHERE 'create_refunds' = ANY(permissions) LIMIT %s
    )
"""


def grant(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001 - Django's interface
    """Give `create_refunds` to each key with `create_payments`, which included it until now."""
    _in_batches(editor, _GRANT)


def withdraw(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:  # noqa: ARG001 - Django's interface
    """Remove the permission from all keys: the previous release can't rotate a key with an unknown one."""
    _in_batches(editor, _WITHDRAW)


def _in_batches(editor: BaseDatabaseSchemaEditor, sql: str) -> None:
    with editor.connection.cursor() as cursor:
        cursor.execute(sql, [_BATCH])
        while cursor.rowcount:
            cursor.execute(sql, [_BATCH])


class Migration(migrations.Migration):
    """Add the permission `create_refunds`. Can be repeated if it is interrupted; the column doesn't change."""

    atomic = False

    dependencies = [("merchants", "0015_switches")]

    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="permissions",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("create_payments", "Create, cancel and retry payments"),
                        ("create_refunds", "Create, build, submit and cancel refunds, to any address"),
                        ("manage_webhooks", "Read and change the webhook endpoint, its secret included"),
                    ],
                    max_length=32,
                ),
                blank=True,
                default=list,
                size=None,
            ),
        ),
        migrations.RunPython(grant, withdraw),
    ]
