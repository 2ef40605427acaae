"""Add payments that payers sign and the operator sends. The new tables and their indexes are empty."""


import chains.fields
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chains', '0003_authorizations'),
        ('merchants', '0007_sponsored_payments'),
        ('payments', '0018_bound_by_authorization'),
    ]

    operations = [
        migrations.AddField(
            model_name='payment',
            name='is_sponsored',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='route',
            name='is_sponsored',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name='payment',
            name='failure_code',
            field=models.CharField(blank=True, choices=[('transaction_reverted', 'Transaction Reverted'), ('wrong_chain', 'Wrong Chain'), ('wrong_token', 'Wrong Token'), ('wrong_recipient', 'Wrong Recipient'), ('wrong_amount', 'Wrong Amount'), ('transaction_too_old', 'Transaction Too Old'), ('transaction_not_bound', 'Transaction Not Bound'), ('transaction_ambiguous', 'Transaction Ambiguous'), ('transaction_already_used', 'Transaction Already Used'), ('transaction_replaced', 'Transaction Replaced'), ('transaction_not_found', 'Transaction Not Found'), ('not_verifiable', 'Not Verifiable'), ('verification_timed_out', 'Verification Timed Out'), ('swap_partial', 'Swap Partial'), ('swap_refunded', 'Swap Refunded'), ('swap_failed', 'Swap Failed'), ('authorization_expired', 'Authorization Expired'), ('authorization_used', 'Authorization Used')], max_length=32),
        ),
        migrations.AlterField(
            model_name='payment',
            name='likely_failure',
            field=models.CharField(blank=True, choices=[('transaction_reverted', 'Transaction Reverted'), ('wrong_chain', 'Wrong Chain'), ('wrong_token', 'Wrong Token'), ('wrong_recipient', 'Wrong Recipient'), ('wrong_amount', 'Wrong Amount'), ('transaction_too_old', 'Transaction Too Old'), ('transaction_not_bound', 'Transaction Not Bound'), ('transaction_ambiguous', 'Transaction Ambiguous'), ('transaction_already_used', 'Transaction Already Used'), ('transaction_replaced', 'Transaction Replaced'), ('transaction_not_found', 'Transaction Not Found'), ('not_verifiable', 'Not Verifiable'), ('verification_timed_out', 'Verification Timed Out'), ('swap_partial', 'Swap Partial'), ('swap_refunded', 'Swap Refunded'), ('swap_failed', 'Swap Failed'), ('authorization_expired', 'Authorization Expired'), ('authorization_used', 'Authorization Used')], db_default='', default='', max_length=32),
        ),
        migrations.CreateModel(
            name='Authorization',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('payer', models.CharField(max_length=64)),
                ('recipient', models.CharField(max_length=64)),
                ('amount', chains.fields.BaseUnitsField()),
                ('domain_name', models.CharField(max_length=100)),
                ('domain_version', models.CharField(max_length=100)),
                ('valid_before', models.BigIntegerField()),
                ('nonce', models.BinaryField(max_length=32)),
                ('since_block', models.BigIntegerField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('signature', models.BinaryField(blank=True, max_length=65, null=True)),
                ('signed_at', models.DateTimeField(blank=True, null=True)),
                ('day', models.DateField(blank=True, null=True)),
                ('cost', chains.fields.BaseUnitsField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('next_check_at', models.DateTimeField(blank=True, null=True)),
                ('claim_id', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('chain', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='chains.chain')),
                ('merchant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='merchants.merchant')),
                ('payment', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='authorization', to='payments.payment')),
                ('request', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='authorizations', to='payments.paymentrequest')),
                ('route', models.OneToOneField(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='authorization', to='payments.route')),
                ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='chains.token')),
            ],
        ),
        migrations.CreateModel(
            name='GasAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', models.CharField(max_length=64)),
                ('next_nonce', models.BigIntegerField(blank=True, null=True)),
                ('balance', chains.fields.BaseUnitsField(blank=True, null=True)),
                ('looked_at', models.DateTimeField(blank=True, null=True)),
                ('next_look_at', models.DateTimeField(blank=True, null=True)),
                ('claim_id', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('chain', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chains.chain')),
            ],
        ),
        migrations.CreateModel(
            name='Relay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('nonce', models.BigIntegerField()),
                ('hashes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=66), size=None)),
                ('raw', models.TextField()),
                ('unsigned', models.JSONField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('signed_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('succeeded', models.BooleanField(blank=True, null=True)),
                ('fee', chains.fields.BaseUnitsField(blank=True, null=True)),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='relays', to='payments.gasaccount')),
                ('authorization', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='relays', to='payments.authorization')),
            ],
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(fields=['nonce'], name='authorization_nonce'),
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(condition=models.Q(('day__isnull', False)), fields=['chain', 'day', 'merchant'], name='authorization_budget'),
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(condition=models.Q(('next_check_at__isnull', False)), fields=['next_check_at'], name='authorization_due'),
        ),
        migrations.AddIndex(
            model_name='authorization',
            index=models.Index(condition=models.Q(('ended_at__isnull', True), ('signed_at__isnull', False)), fields=['chain', 'signed_at'], name='authorization_to_relay'),
        ),
        migrations.AddConstraint(
            model_name='authorization',
            constraint=models.UniqueConstraint(fields=('payer', 'nonce', 'token'), name='authorization_is_one_for_each_nonce'),
        ),
        migrations.AddConstraint(
            model_name='authorization',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('amount__gte', 0), ('amount__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('amount__isnull', True), _connector='OR'), name='authorization_amount_is_uint256'),
        ),
        migrations.AddConstraint(
            model_name='authorization',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cost__gte', 0), ('cost__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('cost__isnull', True), _connector='OR'), name='authorization_cost_is_uint256'),
        ),
        migrations.AddConstraint(
            model_name='gasaccount',
            constraint=models.UniqueConstraint(fields=('chain', 'address'), name='gas_account_is_one_for_each_chain'),
        ),
        migrations.AddConstraint(
            model_name='gasaccount',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('balance__gte', 0), ('balance__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('balance__isnull', True), _connector='OR'), name='gas_account_balance_is_uint256'),
        ),
        migrations.AddIndex(
            model_name='relay',
            index=models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['account', 'nonce'], name='relay_under_way'),
        ),
        migrations.AddConstraint(
            model_name='relay',
            constraint=models.UniqueConstraint(fields=('account', 'nonce'), name='relay_is_one_for_each_nonce'),
        ),
        migrations.AddConstraint(
            model_name='relay',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('fee__gte', 0), ('fee__lte', 115792089237316195423570985008687907853269984665640564039457584007913129639935)), ('fee__isnull', True), _connector='OR'), name='relay_fee_is_uint256'),
        ),
    ]
