"""Index the searches for proposals that are due, without blocking writes."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("payments", "0007_proposals")]

    operations = [
        AddIndexConcurrently(
            model_name="lookup",
            index=models.Index(
                fields=("proposal_check_at",),
                condition=models.Q(proposal_check_at__isnull=False),
                name="lookup_due_for_proposal",
            ),
        ),
    ]
