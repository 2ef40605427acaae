"""When a refund's transaction was last returned to be signed. The column may be null, so the table is not rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('payments', '0031_refunds'),
    ]

    operations = [
        migrations.AddField(
            model_name='refund',
            name='built_at',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
