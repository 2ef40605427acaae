"""Name columns as the portal shows them. Changes no table."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chains', '0004_families_by_folder'),
    ]

    operations = [
        migrations.AlterField(
            model_name='chain',
            name='explorer_url',
            field=models.CharField(blank=True, default='', max_length=500, verbose_name='explorer URL'),
        ),
        migrations.AlterField(
            model_name='chain',
            name='is_active',
            field=models.BooleanField(default=True, verbose_name='active'),
        ),
        migrations.AlterField(
            model_name='chain',
            name='wallet_rpc_url',
            field=models.CharField(blank=True, db_default='', default='', max_length=500, verbose_name='wallet RPC URL'),
        ),
        migrations.AlterField(
            model_name='token',
            name='is_active',
            field=models.BooleanField(default=True, verbose_name='active'),
        ),
    ]
