from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("merchants", "0002_team")]

    operations = [
        AddIndexConcurrently(
            model_name="auditentry",
            index=models.Index(fields=["merchant", "-id"], name="log_of_a_merchant"),
        )
    ]
