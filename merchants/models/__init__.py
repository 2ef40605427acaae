"""Merchants, their API keys, and the staff who see them in the portal."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from chains import families
from merchants.currencies import validate_currency
from merchants.identifiers import uuid7
from merchants.models.accounts import (
    AuditEntry,
    Authenticator,
    PortalPreferences,
    RecoveryCode,
    SignInAttempt,
    SpentForm,
)
from merchants.models.idempotency_keys import IdempotencyKey
from merchants.models.mail import Mail, NoticeKind, NoticeWatch
from merchants.models.team import Invitation, StaffMembership

__all__ = [
    "AllowedRecipient",
    "ApiKey",
    "AuditEntry",
    "Authenticator",
    "ContractRecipient",
    "IdempotencyKey",
    "Invitation",
    "Mail",
    "Merchant",
    "NoticeKind",
    "NoticeWatch",
    "Permission",
    "PortalPreferences",
    "RecoveryCode",
    "SignInAttempt",
    "SpentForm",
    "StaffMembership",
]

VALIDATE_COLOUR = RegexValidator(r"\A#[0-9a-fA-F]{6}\Z", "This should be a colour such as #1f6feb.")


class Merchant(models.Model):
    """A merchant: the owner of API keys, payment requests and a webhook endpoint. Merchants never share data.

    `references`: by default, transactions contain a reference that binds them to the request. `deposit_addresses`: the
    merchant's requests may have deposit addresses. `sponsored_payments`: the operator may pay the network fees of the
    merchant's customers. The remaining fields are the checkout’s theme.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(
        max_length=100, help_text="Customers see the display name. If there is none, they see this name."
    )
    email = models.EmailField(
        blank=True, help_text="Gets warnings about failing webhooks and about payments that need a decision."
    )
    references = models.BooleanField(
        default=True,
        help_text="Switch off if the wallet is an exchange's deposit address that credits only plain transfers.",
    )
    deposit_addresses = models.BooleanField(
        default=False,
        db_default=False,
        help_text=(
            "On EVM chains, each payment request can have its own address. Customers can pay to it from any wallet or "
            "exchange. The money can only go on to the request’s recipient. To collect it, you send a transaction and "
            "pay its network fee. If you collect from many addresses at once, each costs about twice the fee of a "
            "usual transfer."
        ),
    )
    sponsored_payments = models.BooleanField(
        default=True,
        db_default=True,
        help_text=(
            "If the operator pays network fees, customers can pay in some tokens by signing only. They need no coin "
            "for the fee."
        ),
    )
    embed_origins = ArrayField(models.CharField(max_length=255), default=list, blank=True)
    display_name = models.CharField(max_length=100, blank=True)
    logo_url = models.URLField("logo URL", max_length=2048, blank=True)
    accent_colour = models.CharField(max_length=7, blank=True, validators=[VALIDATE_COLOUR])
    background_colour = models.CharField(max_length=7, blank=True, validators=[VALIDATE_COLOUR])
    support_url = models.URLField("support URL", max_length=2048, blank=True)
    support_email = models.EmailField(blank=True)
    default_language = models.CharField(max_length=16, blank=True, default="en")
    show_order_number = models.BooleanField(
        default=False,
        db_default=False,
        help_text=(
            "Show customers each request’s external_id as the order number, on the checkout and the "
            "receipt. Anyone with the link can read it."
        ),
    )
    reporting_currency = models.CharField(
        max_length=3,
        default="USD",
        db_default="USD",
        validators=[validate_currency],
        help_text="The currency in which completed payments are valued, such as USD or EUR.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class AllowedRecipient(models.Model):
    """A wallet that a merchant's payment requests may pay. An empty list accepts every recipient.

    `address` is in its canonical form (`chains.families`), and is valid on every chain of the family. Change the list
    only through `merchants.recipients`, which writes the security log.
    """

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="allowed_recipients")
    chain_type = models.CharField(max_length=16, choices=families.choices)
    address = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("chain_type", "address")
        constraints = [
            models.UniqueConstraint(
                fields=("merchant", "chain_type", "address"), name="recipient_allowed_once"
            )
        ]

    def __str__(self) -> str:
        return f"{families.label_of(self.chain_type)} {self.address}"


class ContractRecipient(models.Model):
    """A contract recipient. The merchant has confirmed that it controls this address on every chain of the family.

    Without this confirmation, the contract can't be the recipient of a deposit address. The reason: if a customer sends
    money to a deposit address on the wrong chain, the money goes to the recipient's address on that chain. Change rows
    only through `merchants.recipients`, which writes the security log.
    """

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="contract_recipients")
    chain_type = models.CharField(max_length=16, choices=families.choices)
    address = models.CharField(max_length=64)
    confirmed_by = models.CharField(max_length=150, editable=False)
    confirmed_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("chain_type", "address")
        constraints = [
            models.UniqueConstraint(
                fields=("merchant", "chain_type", "address"), name="contract_recipient_confirmed_once"
            )
        ]

    def __str__(self) -> str:
        return f"{families.label_of(self.chain_type)} {self.address}"


class Permission(models.TextChoices):
    """A key's permissions. A key without permissions can read payment requests and events."""

    CREATE_PAYMENTS = "create_payments", "Create, cancel and retry payments"
    CREATE_REFUNDS = "create_refunds", "Create, build, submit and cancel refunds, to any address"
    MANAGE_WEBHOOKS = "manage_webhooks", "Read and change the webhook endpoint, its secret included"


class ApiKey(models.Model):
    """A merchant's API key.

    The key itself is not stored. `digest` is its SHA-256, and `prefix` its first 12 characters.
    """

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="api_keys")
    name = models.CharField(max_length=100, blank=True)
    prefix = models.CharField(max_length=12, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    permissions = ArrayField(
        models.CharField(max_length=32, choices=Permission.choices), default=list, blank=True
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-created_at",)
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}".strip()

    @property
    def rights(self) -> str:
        return ", ".join(self.permissions) or "read only"

    @property
    def is_active(self) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())
