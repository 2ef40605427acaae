"""Name two models as the portal's menu does. Changes no table."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("payments", "0018_discovery_claim")]

    operations = [
        migrations.AlterModelOptions(
            name="consumedtransfer", options={"verbose_name": "credited transfer"}
        ),
        migrations.AlterModelOptions(
            name="transition", options={"ordering": ("id",), "verbose_name": "status change"}
        ),
    ]
