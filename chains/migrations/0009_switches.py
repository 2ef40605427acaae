"""Kill switches, whose changes are announced to the processes that keep copies (`config.database.process_cache`)."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chains', '0008_price_feeds'),
    ]

    operations = [
        migrations.CreateModel(
            name='Switch',
            fields=[
                ('name', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('off_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('actor', models.CharField(editable=False, max_length=150)),
                ('reason', models.CharField(editable=False, max_length=200)),
            ],
            options={
                'verbose_name': 'kill switch',
                'verbose_name_plural': 'kill switches',
                'ordering': ('name',),
            },
        ),
        migrations.RunSQL(
            "CREATE TRIGGER quittance_notify_settings AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON chains_switch"
            " FOR EACH STATEMENT EXECUTE FUNCTION quittance_notify_settings()",
            "DROP TRIGGER quittance_notify_settings ON chains_switch",
        ),
    ]
