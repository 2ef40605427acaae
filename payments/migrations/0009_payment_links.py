"""Add payment links, and to each payment request the link that created it.

The new column is null in every row, so PostgreSQL adds it with its foreign key without reading the table.
"""

import chains.fields
import django.db.models.deletion
import django.utils.timezone
import merchants.identifiers
import payments.models.link
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chains', '0002_finality_tags'),
        ('merchants', '0001_release_0_2_0'),
        ('payments', '0008_index_of_proposals'),
    ]

    operations = [
        migrations.CreateModel(
            name='PaymentLinkChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(max_length=300)),
                ('actor', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ('created_at', 'id'),
            },
        ),
        migrations.CreateModel(
            name='PaymentLink',
            fields=[
                ('id', models.CharField(default=payments.models.link.new_link_id, editable=False, max_length=27, primary_key=True, serialize=False)),
                ('code', models.CharField(default=merchants.identifiers.shortcode, editable=False, max_length=12, unique=True)),
                ('name', models.CharField(max_length=100)),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('recipient_address', models.CharField(max_length=64)),
                ('amount', chains.fields.BaseUnitsField(blank=True, null=True)),
                ('price', models.JSONField(blank=True, null=True)),
                ('min_amount', chains.fields.BaseUnitsField(blank=True, null=True)),
                ('max_amount', chains.fields.BaseUnitsField(blank=True, null=True)),
                ('description', models.CharField(blank=True, max_length=500, null=True)),
                ('redirect_url', models.CharField(blank=True, max_length=2048, null=True, verbose_name='redirect URL')),
                ('metadata', models.JSONField(blank=True, default=dict)),
                ('max_payments', models.PositiveIntegerField(blank=True, null=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('requests_count', models.PositiveBigIntegerField(default=0, editable=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('created_by', models.CharField(blank=True, default='', editable=False, max_length=100)),
                ('chain', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='chains.chain')),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='payment_links', to='merchants.merchant')),
                ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='chains.token')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
            },
        ),
        migrations.AddField(
            model_name='paymentrequest',
            name='payment_link',
            field=models.ForeignKey(blank=True, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='requests', to='payments.paymentlink'),
        ),
        migrations.AddField(
            model_name='paymentlinkchange',
            name='link',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='payments.paymentlink'),
        ),
        migrations.AddIndex(
            model_name='paymentlink',
            index=models.Index(fields=['merchant', '-created_at', '-id'], name='payment_link_listed'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount__isnull', False), ('min_amount__isnull', True), ('price__isnull', True)), models.Q(('amount__isnull', True), ('min_amount__isnull', True), ('price__isnull', False)), models.Q(('amount__isnull', True), ('min_amount__isnull', False), ('price__isnull', True)), _connector='OR'), name='payment_link_has_one_price'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(('max_amount__isnull', True), ('max_amount__gte', models.F('min_amount')), _connector='OR'), name='payment_link_max_is_not_below_min'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount__isnull', True), ('amount__gt', 0), _connector='OR'), models.Q(('min_amount__isnull', True), ('min_amount__gt', 0), _connector='OR')), name='payment_link_amounts_are_positive'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount__gte', 0), ('amount__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('amount__isnull', True), _connector='OR'), name='payment_link_amount_is_uint256'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('min_amount__gte', 0), ('min_amount__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('min_amount__isnull', True), _connector='OR'), name='payment_link_min_amount_is_uint256'),
        ),
        migrations.AddConstraint(
            model_name='paymentlink',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('max_amount__gte', 0), ('max_amount__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('max_amount__isnull', True), _connector='OR'), name='payment_link_max_amount_is_uint256'),
        ),
    ]
