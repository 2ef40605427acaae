"""Refunds, and the marks of the requests that have or carry one. The columns have defaults of the database."""

import chains.fields
import django.db.models.deletion
import django.utils.timezone
import merchants.identifiers
import payments.models.refund
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('merchants', '0014_reporting_currency'),
        ('payments', '0030_daily_values'),
    ]

    operations = [
        migrations.AddField(
            model_name='paymentrequest',
            name='has_refunds',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='paymentrequest',
            name='is_refund',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.CreateModel(
            name='Refund',
            fields=[
                ('id', models.CharField(default=payments.models.refund.new_refund_id, editable=False, max_length=27, primary_key=True, serialize=False)),
                ('amount', chains.fields.BaseUnitsField()),
                ('recipient_address', models.CharField(blank=True, max_length=64)),
                ('address_source', models.CharField(blank=True, choices=[('merchant', 'Merchant'), ('customer', 'Customer')], max_length=8)),
                ('reason', models.CharField(blank=True, max_length=500, null=True)),
                ('code', models.CharField(default=merchants.identifiers.shortcode, editable=False, max_length=12, unique=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('cancelled_at', models.DateTimeField(blank=True, null=True)),
                ('carrier', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='refund', to='payments.paymentrequest')),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='refunds', to='merchants.merchant')),
                ('payment', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='payments.payment')),
                ('request', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='refunds', to='payments.paymentrequest')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(fields=['merchant', '-created_at', '-id'], name='refund_listed')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('amount__gte', 0), ('amount__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('amount__isnull', True), _connector='OR'), name='refund_amount_is_uint256'), models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='refund_amount_is_positive'), models.CheckConstraint(condition=models.Q(('carrier__isnull', True), models.Q(('recipient_address', ''), _negated=True), _connector='OR'), name='refund_with_a_carrier_has_an_address')],
            },
        ),
    ]
