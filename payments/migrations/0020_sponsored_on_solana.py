"""Let payers sign whole transactions, in which the operator pays the fee (Solana).

All tables are small: they are as new as sponsored payments. Only the list of hashes is written again.
"""

import django.contrib.postgres.fields
from django.db import migrations, models

import chains.fields


class Migration(migrations.Migration):

    dependencies = [
        ('chains', '0003_authorizations'),
        ('payments', '0019_sponsored_payments'),
    ]

    operations = [
        migrations.AddField(
            model_name='authorization',
            name='deposit',
            field=chains.fields.BaseUnitsField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='authorization',
            name='last_valid_height',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='authorization',
            name='transaction',
            field=models.BinaryField(blank=True, max_length=1232, null=True),
        ),
        migrations.AlterField(
            model_name='authorization',
            name='valid_before',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='relay',
            name='hashes',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=88), size=None),
        ),
        migrations.AlterField(
            model_name='relay',
            name='nonce',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(condition=models.Q(('deposit__gt', 0), ('signed_at__isnull', False)), fields=['recipient'], name='authorization_of_accounts'),
        ),
        migrations.AddConstraint(
            model_name='authorization',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('deposit__gte', 0), ('deposit__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('deposit__isnull', True), _connector='OR'), name='authorization_deposit_is_uint256'),
        ),
    ]
