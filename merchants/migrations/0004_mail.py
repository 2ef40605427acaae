"""E-mails that wait to be sent, and the notices that members choose."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('merchants', '0003_index_of_the_log'),
    ]

    operations = [
        migrations.AddField(
            model_name='staffmembership',
            name='notices',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), editable=False, null=True, size=None),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='what',
            field=models.CharField(choices=[('signed_in', 'Signed in'), ('sign_in_failed', 'Sign-in failed'), ('sign_in_refused', 'Sign-in refused: too many attempts'), ('code_failed', 'Wrong second factor'), ('signed_out', 'Signed out'), ('password_changed', 'Password changed'), ('reset_requested', 'Password reset requested'), ('reset_refused', 'Password reset refused: too many attempts'), ('password_reset', 'Password reset by e-mail'), ('two_factor_on', 'Second factor set up'), ('two_factor_off', 'Second factor removed'), ('two_factor_reset', 'Second factor reset by an operator'), ('recovery_codes_made', 'New recovery codes'), ('recovery_code_used', 'Recovery code used'), ('user_made', 'User created'), ('user_changed', 'User changed'), ('role_changed', 'Role changed'), ('member_invited', 'Member invited'), ('invitation_accepted', 'Invitation accepted'), ('invitation_revoked', 'Invitation revoked'), ('member_removed', 'Member removed'), ('key_issued', 'API key issued'), ('key_rotated', 'API key rotated'), ('key_revoked', 'API key revoked'), ('key_changed', 'API key changed'), ('merchant_created', 'Merchant created'), ('merchant_changed', 'Merchant changed'), ('recipient_allowed', 'Recipient allowed'), ('recipient_disallowed', 'Recipient no longer allowed'), ('webhook_changed', 'Webhook endpoint changed'), ('webhook_tested', 'Webhook endpoint tested'), ('secret_rotated', 'Webhook secret rotated'), ('secret_revealed', 'Webhook secret revealed'), ('notices_changed', 'E-mail notices changed'), ('exported', 'CSV exported'), ('switched_off', 'Kill switch: off'), ('switched_on', 'Kill switch: on again')], editable=False, max_length=32),
        ),
        migrations.CreateModel(
            name='NoticeWatch',
            fields=[
                ('merchant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='merchants.merchant')),
                ('check_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('known', models.JSONField(editable=False, null=True)),
                ('had_payment', models.BooleanField(db_default=False, default=False, editable=False)),
            ],
            options={
                'indexes': [models.Index(fields=['check_at'], name='notice_watch_due')],
            },
        ),
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=32)),
                ('recipient', models.EmailField(max_length=254)),
                ('subject', models.CharField(max_length=300)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('next_attempt_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('failures', models.PositiveSmallIntegerField(db_default=0, default=0, editable=False)),
                ('claim_id', models.UUIDField(editable=False, null=True)),
                ('lease_until', models.DateTimeField(editable=False, null=True)),
                ('member', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='merchants.staffmembership')),
                ('merchant', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='merchants.merchant')),
            ],
            options={
                'indexes': [models.Index(fields=['next_attempt_at'], name='mail_due')],
            },
        ),
    ]
