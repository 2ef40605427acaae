"""The tables of `merchants` as of release 0.2.0, the triggers that announce changes, and the check of recipients."""

import chains.families
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import merchants.currencies
import merchants.identifiers
from django.conf import settings
from django.db import migrations, models

_TRIGGER = (
    "CREATE TRIGGER quittance_notify_settings AFTER {events} ON {table}"
    " FOR EACH STATEMENT EXECUTE FUNCTION quittance_notify_settings()"
)
# New merchants are in no copy: an ID that is unknown is looked up each time.
_EVENTS = {
    "merchants_merchant": "UPDATE OR DELETE OR TRUNCATE",
    "merchants_allowedrecipient": "INSERT OR UPDATE OR DELETE OR TRUNCATE",
}
# Each statement of a volatile function sees what was committed before it, also while it waited for the lock. The number
# is the one of merchants.recipients.
_IS_ALLOWED = """
CREATE FUNCTION quittance_is_allowed_recipient(merchant uuid, family text, recipient text)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(24940, hashtext(merchant::text));
    RETURN NOT EXISTS (SELECT FROM merchants_allowedrecipient WHERE merchant_id = merchant)
        OR EXISTS (
            SELECT FROM merchants_allowedrecipient
            WHERE merchant_id = merchant AND chain_type = family AND address = recipient
        );
END $$
"""


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("merchants", "0001_initial"),
        ("merchants", "0002_staff_membership"),
        ("merchants", "0003_sign_in"),
        ("merchants", "0004_idempotency_key"),
        ("merchants", "0005_security_log_entries"),
        ("merchants", "0006_exports_in_the_security_log"),
        ("merchants", "0007_allowed_recipients"),
        ("merchants", "0008_portal_preferences"),
        ("merchants", "0009_show_order_number"),
        ("merchants", "0010_recipients_of_any_family"),
        ("merchants", "0011_portal_labels"),
        ("merchants", "0012_security_log_label"),
        ("merchants", "0013_notify_of_changes"),
        ("merchants", "0014_reporting_currency"),
        ("merchants", "0015_switches"),
        ("merchants", "0016_create_refunds"),
        ("merchants", "0017_email_for_decisions"),
    ]
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "what",
                    models.CharField(
                        choices=[
                            ("signed_in", "Signed in"),
                            ("sign_in_failed", "Sign-in failed"),
                            ("sign_in_refused", "Sign-in refused: too many attempts"),
                            ("code_failed", "Wrong second factor"),
                            ("signed_out", "Signed out"),
                            ("password_changed", "Password changed"),
                            ("reset_requested", "Password reset requested"),
                            ("reset_refused", "Password reset refused: too many attempts"),
                            ("password_reset", "Password reset by e-mail"),
                            ("two_factor_on", "Second factor set up"),
                            ("two_factor_off", "Second factor removed"),
                            ("two_factor_reset", "Second factor reset by an operator"),
                            ("recovery_codes_made", "New recovery codes"),
                            ("recovery_code_used", "Recovery code used"),
                            ("user_made", "User made"),
                            ("user_changed", "User changed"),
                            ("role_changed", "Role changed"),
                            ("key_issued", "API key issued"),
                            ("key_rotated", "API key rotated"),
                            ("key_revoked", "API key revoked"),
                            ("key_changed", "API key changed"),
                            ("merchant_created", "Merchant created"),
                            ("merchant_changed", "Merchant changed"),
                            ("recipient_allowed", "Recipient allowed"),
                            ("recipient_disallowed", "Recipient no longer allowed"),
                            ("exported", "CSV exported"),
                            ("switched_off", "Kill switch: off"),
                            ("switched_on", "Kill switch: on again"),
                        ],
                        editable=False,
                        max_length=32,
                    ),
                ),
                ("actor", models.CharField(blank=True, db_index=True, editable=False, max_length=150)),
                ("subject", models.CharField(blank=True, editable=False, max_length=200)),
                ("detail", models.CharField(blank=True, editable=False, max_length=300)),
                ("address", models.CharField(blank=True, db_index=True, editable=False, max_length=45)),
            ],
            options={
                "verbose_name": "security log entry",
                "verbose_name_plural": "security log entries",
                "ordering": ("-id",),
            },
        ),
        migrations.CreateModel(
            name="Merchant",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=merchants.identifiers.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="For you. Customers see the display name, or this if there is none.",
                        max_length=100,
                    ),
                ),
                (
                    "email",
                    models.EmailField(
                        blank=True,
                        help_text="For warnings about failing webhooks and payments that need a decision.",
                        max_length=254,
                    ),
                ),
                (
                    "references",
                    models.BooleanField(
                        default=True,
                        help_text="Switch off if the wallet is an exchange's deposit address that credits only plain transfers.",
                    ),
                ),
                (
                    "embed_origins",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=255), blank=True, default=list, size=None
                    ),
                ),
                ("display_name", models.CharField(blank=True, max_length=100)),
                ("logo_url", models.URLField(blank=True, max_length=2048, verbose_name="logo URL")),
                (
                    "accent_colour",
                    models.CharField(
                        blank=True,
                        max_length=7,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A#[0-9a-fA-F]{6}\\Z", "This should be a colour such as #1f6feb."
                            )
                        ],
                    ),
                ),
                (
                    "background_colour",
                    models.CharField(
                        blank=True,
                        max_length=7,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A#[0-9a-fA-F]{6}\\Z", "This should be a colour such as #1f6feb."
                            )
                        ],
                    ),
                ),
                ("support_url", models.URLField(blank=True, max_length=2048, verbose_name="support URL")),
                ("support_email", models.EmailField(blank=True, max_length=254)),
                ("default_language", models.CharField(blank=True, default="en", max_length=16)),
                (
                    "show_order_number",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Show customers each request’s external_id as the order number, on the checkout and the receipt. Anyone with the link can read it.",
                    ),
                ),
                (
                    "reporting_currency",
                    models.CharField(
                        db_default="USD",
                        default="USD",
                        help_text="The currency in which completed payments are valued, such as USD or EUR.",
                        max_length=3,
                        validators=[merchants.currencies.validate_currency],
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                "ordering": ("name",),
            },
        ),
        migrations.CreateModel(
            name="SpentForm",
            fields=[
                ("form_id", models.UUIDField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=100)),
                ("prefix", models.CharField(editable=False, max_length=12)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                (
                    "permissions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("create_payments", "Create, cancel and retry payments"),
                                (
                                    "create_refunds",
                                    "Create, build, submit and cancel refunds, to any address",
                                ),
                                (
                                    "manage_webhooks",
                                    "Read and change the webhook endpoint, its secret included",
                                ),
                            ],
                            max_length=32,
                        ),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="api_keys",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "verbose_name": "API key",
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="PortalPreferences",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("time_zone", models.CharField(default="UTC", max_length=64)),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="preferences",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RecoveryCode",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("used_at", models.DateTimeField(editable=False, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="recovery_codes",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SignInAttempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("account", models.BinaryField(max_length=32)),
                ("address", models.CharField(max_length=45)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["account", "at"], name="attempt_by_account"),
                    models.Index(fields=["address", "at"], name="attempt_by_address"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Authenticator",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(help_text="The human-readable name of this device.", max_length=64),
                ),
                ("confirmed", models.BooleanField(default=True, help_text="Is this device ready for use?")),
                (
                    "throttling_failure_timestamp",
                    models.DateTimeField(
                        blank=True,
                        default=None,
                        help_text="A timestamp of the last failed verification attempt. Null if last attempt succeeded.",
                        null=True,
                    ),
                ),
                (
                    "throttling_failure_count",
                    models.PositiveIntegerField(default=0, help_text="Number of successive failed attempts."),
                ),
                (
                    "created_at",
                    models.DateTimeField(
                        auto_now_add=True,
                        help_text="The date and time when this device was initially created in the system.",
                        null=True,
                    ),
                ),
                (
                    "last_used_at",
                    models.DateTimeField(
                        blank=True, help_text="The most recent date and time this device was used.", null=True
                    ),
                ),
                ("key_encrypted", models.BinaryField()),
                ("last_step", models.BigIntegerField(default=-1, editable=False)),
                (
                    "user",
                    models.ForeignKey(
                        help_text="The user that this device belongs to.",
                        on_delete=django.db.models.deletion.CASCADE,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("user",), name="one_authenticator_each")],
            },
        ),
        migrations.CreateModel(
            name="IdempotencyKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=255)),
                ("fingerprint", models.BinaryField(max_length=32)),
                ("claim_id", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("body", models.BinaryField(null=True)),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "merchant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("merchant", "key"), name="one_row_per_idempotency_key"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("body__isnull", True),
                                ("claim_id__isnull", False),
                                ("lease_until__isnull", False),
                                ("status__isnull", True),
                            ),
                            models.Q(
                                ("body__isnull", False),
                                ("claim_id__isnull", True),
                                ("lease_until__isnull", True),
                                ("status__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="idempotency_key_claimed_or_answered",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AllowedRecipient",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("chain_type", models.CharField(choices=chains.families.choices, max_length=16)),
                ("address", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "merchant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="allowed_recipients",
                        to="merchants.merchant",
                    ),
                ),
            ],
            options={
                "ordering": ("chain_type", "address"),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("merchant", "chain_type", "address"), name="recipient_allowed_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StaffMembership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[("support", "Support"), ("merchant", "Merchant staff")], max_length=16
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "merchant",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="staff",
                        to="merchants.merchant",
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="membership",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "permissions": [("see_every_merchant", "Can see what every merchant owns")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("merchant__isnull", True), ("role", "support")),
                            models.Q(("merchant__isnull", False), ("role", "merchant")),
                            _connector="OR",
                        ),
                        name="staff_of_a_merchant_or_support",
                    )
                ],
            },
        ),
        *(
            migrations.RunSQL(
                _TRIGGER.format(table=table, events=events),
                f"DROP TRIGGER quittance_notify_settings ON {table}",
            )
            for table, events in _EVENTS.items()
        ),
        migrations.RunSQL(_IS_ALLOWED, "DROP FUNCTION quittance_is_allowed_recipient(uuid, text, text)"),
    ]
