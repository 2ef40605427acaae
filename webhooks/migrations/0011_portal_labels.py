"""Name columns as the portal shows them. Changes no table."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('webhooks', '0010_due_at_own_url'),
    ]

    operations = [
        migrations.AlterField(
            model_name='delivery',
            name='public_event_id',
            field=models.CharField(max_length=28, verbose_name='event ID'),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='is_enabled',
            field=models.BooleanField(default=True, verbose_name='enabled'),
        ),
        migrations.AlterField(
            model_name='event',
            name='dedupe_key',
            field=models.CharField(max_length=200, verbose_name='occurrence'),
        ),
    ]
