"""Name security log entries so that a count reads well. Changes no table."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('merchants', '0011_portal_labels'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='auditentry',
            options={
                'ordering': ('-id',),
                'verbose_name': 'security log entry',
                'verbose_name_plural': 'security log entries',
            },
        ),
    ]
