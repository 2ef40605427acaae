"""A merchant's team: roles and invitations, and whose merchant an entry of the security log is about."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('merchants', '0001_release_0_2_0'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254)),
                ('role', models.CharField(max_length=16)),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('expires_at', models.DateTimeField(editable=False)),
                ('accepted_at', models.DateTimeField(editable=False, null=True)),
                ('revoked_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.AlterModelOptions(
            name='staffmembership',
            options={'permissions': [('see_every_merchant', 'Can see what every merchant owns')], 'verbose_name': 'member'},
        ),
        migrations.RemoveConstraint(
            model_name='staffmembership',
            name='staff_of_a_merchant_or_support',
        ),
        migrations.AddField(
            model_name='auditentry',
            name='by_operator',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='merchant',
            field=models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='merchants.merchant'),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='what',
            field=models.CharField(choices=[('signed_in', 'Signed in'), ('sign_in_failed', 'Sign-in failed'), ('sign_in_refused', 'Sign-in refused: too many attempts'), ('code_failed', 'Wrong second factor'), ('signed_out', 'Signed out'), ('password_changed', 'Password changed'), ('reset_requested', 'Password reset requested'), ('reset_refused', 'Password reset refused: too many attempts'), ('password_reset', 'Password reset by e-mail'), ('two_factor_on', 'Second factor set up'), ('two_factor_off', 'Second factor removed'), ('two_factor_reset', 'Second factor reset by an operator'), ('recovery_codes_made', 'New recovery codes'), ('recovery_code_used', 'Recovery code used'), ('user_made', 'User created'), ('user_changed', 'User changed'), ('role_changed', 'Role changed'), ('member_invited', 'Member invited'), ('invitation_accepted', 'Invitation accepted'), ('invitation_revoked', 'Invitation revoked'), ('member_removed', 'Member removed'), ('key_issued', 'API key issued'), ('key_rotated', 'API key rotated'), ('key_revoked', 'API key revoked'), ('key_changed', 'API key changed'), ('merchant_created', 'Merchant created'), ('merchant_changed', 'Merchant changed'), ('recipient_allowed', 'Recipient allowed'), ('recipient_disallowed', 'Recipient no longer allowed'), ('webhook_changed', 'Webhook endpoint changed'), ('webhook_tested', 'Webhook endpoint tested'), ('secret_rotated', 'Webhook secret rotated'), ('secret_revealed', 'Webhook secret revealed'), ('exported', 'CSV exported'), ('switched_off', 'Kill switch: off'), ('switched_on', 'Kill switch: on again')], editable=False, max_length=32),
        ),
        migrations.AlterField(
            model_name='staffmembership',
            name='role',
            field=models.CharField(choices=[('support', 'Support'), ('merchant', 'Owner'), ('developer', 'Developer'), ('finance', 'Finance'), ('viewer', 'Viewer')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='staffmembership',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('merchant__isnull', True), ('role', 'support')), models.Q(('merchant__isnull', False), ('role__in', ('merchant', 'developer', 'finance', 'viewer'))), _connector='OR'), name='staff_of_a_merchant_or_support'),
        ),
        migrations.AddField(
            model_name='invitation',
            name='invited_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='invitation',
            name='merchant',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='merchants.merchant'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(condition=models.Q(('accepted_at', None), ('revoked_at', None)), fields=('merchant', 'email'), name='one_open_invitation_each'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('merchant__isnull', True), ('role__in', ('operator', 'support'))), models.Q(('merchant__isnull', False), ('role__in', ('merchant', 'developer', 'finance', 'viewer'))), _connector='OR'), name='invited_to_a_merchant_or_to_all'),
        ),
    ]
