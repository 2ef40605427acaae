"""Name columns as the portal shows them. Changes no table."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('merchants', '0010_recipients_of_any_family'),
    ]

    operations = [
        migrations.AlterField(
            model_name='merchant',
            name='logo_url',
            field=models.URLField(blank=True, max_length=2048, verbose_name='logo URL'),
        ),
        migrations.AlterField(
            model_name='merchant',
            name='support_url',
            field=models.URLField(blank=True, max_length=2048, verbose_name='support URL'),
        ),
    ]
