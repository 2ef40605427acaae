"""Portal accounts: second factors, sign-in attempts, preferences and the security log."""

import hashlib
import logging
import time
from typing import Any, ClassVar

from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import models
from django.utils import timezone
from django_otp.models import Device, ThrottlingMixin, TimestampMixin
from django_otp.oath import TOTP

from merchants import encryption

logger = logging.getLogger(__name__)

STEP_SECONDS = 30
TOLERANCE = 1  # in steps of 30 s: the phone's clock may differ by this much


class Authenticator(TimestampMixin, ThrottlingMixin, Device):  # type: ignore[misc]  # the library has no types
    """A user's authenticator app (TOTP, RFC 6238). The app's secret is stored encrypted.

    The row is created when the user has entered a first code. Each user has at most one row. `last_step` is the time
    step of the last accepted code. Codes of this step and of earlier ones are rejected, so each code works once. After
    each wrong code, the waiting time doubles.
    """

    key_encrypted = models.BinaryField(editable=False)
    last_step = models.BigIntegerField(default=-1, editable=False)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=("user",), name="one_authenticator_each")
        ]

    def get_throttle_factor(self) -> int:
        """Return the seconds to wait after the first wrong code."""
        return 1

    def verify_token(self, token: str) -> bool:
        """Return whether `token` is a current and unused code. Lock this row before the call."""
        if not self.verify_is_allowed()[0]:
            return False
        try:
            key = encryption.decrypt(self.key_encrypted)
        except InvalidToken:  # The key for this secret was removed from ENCRYPTION_KEYS.
            logger.error("the second factor of user %s can't be decrypted: reset it", self.user_id)
            return False
        step = accepted_step(key, token, after=self.last_step)
        if step is None:
            self.throttle_increment()
            return False
        self.last_step = step
        self.throttle_reset(commit=False)
        self.set_last_used_timestamp(commit=False)
        self.save()
        return True


class RecoveryCode(models.Model):
    """A one-time code for users who lost their phone. The code has 80 random bits, and only its SHA-256 is stored."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes"
    )
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    used_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return "used" if self.used_at else "unused"


class SignInAttempt(models.Model):
    """A sign-in attempt. The attempt is kept while it counts towards the limits of its account and IP address."""

    at = models.DateTimeField(default=timezone.now, db_index=True)
    account = models.BinaryField(max_length=32)
    address = models.CharField(max_length=45)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=("account", "at"), name="attempt_by_account"),
            models.Index(fields=("address", "at"), name="attempt_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.address} at {self.at:%H:%M:%S}"


class AuditEntry(models.Model):
    """A security log entry: actor, action, time and IP address. Append-only, without secrets.

    The owners of `merchant` see the entry. If the actor works for the operator (`by_operator`), owners don't see the
    actor's name and IP address.
    """

    class What(models.TextChoices):
        SIGNED_IN = "signed_in", "Signed in"
        SIGN_IN_FAILED = "sign_in_failed", "Sign-in failed"
        SIGN_IN_REFUSED = "sign_in_refused", "Sign-in refused: too many attempts"
        CODE_FAILED = "code_failed", "Wrong second factor"
        SIGNED_OUT = "signed_out", "Signed out"
        PASSWORD_CHANGED = "password_changed", "Password changed"
        RESET_REQUESTED = "reset_requested", "Password reset requested"
        RESET_REFUSED = "reset_refused", "Password reset refused: too many attempts"
        PASSWORD_RESET = "password_reset", "Password reset by e-mail"
        TWO_FACTOR_ON = "two_factor_on", "Second factor set up"
        TWO_FACTOR_OFF = "two_factor_off", "Second factor removed"
        TWO_FACTOR_RESET = "two_factor_reset", "Second factor reset by an operator"
        RECOVERY_CODES_MADE = "recovery_codes_made", "New recovery codes"
        RECOVERY_CODE_USED = "recovery_code_used", "Recovery code used"
        USER_MADE = "user_made", "User created"
        USER_CHANGED = "user_changed", "User changed"
        ROLE_CHANGED = "role_changed", "Role changed"
        MEMBER_INVITED = "member_invited", "Member invited"
        INVITATION_ACCEPTED = "invitation_accepted", "Invitation accepted"
        INVITATION_REVOKED = "invitation_revoked", "Invitation revoked"
        MEMBER_REMOVED = "member_removed", "Member removed"
        KEY_ISSUED = "key_issued", "API key issued"
        KEY_ROTATED = "key_rotated", "API key rotated"
        KEY_REVOKED = "key_revoked", "API key revoked"
        KEY_CHANGED = "key_changed", "API key changed"
        MERCHANT_CREATED = "merchant_created", "Merchant created"
        MERCHANT_CHANGED = "merchant_changed", "Merchant changed"
        RECIPIENT_ALLOWED = "recipient_allowed", "Recipient allowed"
        RECIPIENT_DISALLOWED = "recipient_disallowed", "Recipient no longer allowed"
        CONTRACT_CONFIRMED = "contract_confirmed", "Contract recipient confirmed"
        CONTRACT_WITHDRAWN = "contract_withdrawn", "Contract recipient no longer confirmed"
        WEBHOOK_CHANGED = "webhook_changed", "Webhook endpoint changed"
        WEBHOOK_TESTED = "webhook_tested", "Webhook endpoint tested"
        SECRET_ROTATED = "secret_rotated", "Webhook secret rotated"
        SECRET_REVEALED = "secret_revealed", "Webhook secret revealed"
        NOTICES_CHANGED = "notices_changed", "E-mail notices changed"
        EXPORTED = "exported", "CSV exported"
        SWITCHED_OFF = "switched_off", "Kill switch: off"
        SWITCHED_ON = "switched_on", "Kill switch: on again"

    at = models.DateTimeField(default=timezone.now, editable=False)
    what = models.CharField(max_length=32, choices=What.choices, editable=False)
    actor = models.CharField(max_length=150, blank=True, editable=False, db_index=True)
    subject = models.CharField(max_length=200, blank=True, editable=False)
    detail = models.CharField(max_length=300, blank=True, editable=False)
    address = models.CharField(max_length=45, blank=True, editable=False, db_index=True)
    merchant = models.ForeignKey(
        "merchants.Merchant",
        on_delete=models.PROTECT,
        null=True,
        editable=False,
        related_name="+",
        db_index=False,
    )
    by_operator = models.BooleanField(default=False, db_default=False, editable=False)

    class Meta:
        verbose_name = "security log entry"
        verbose_name_plural = "security log entries"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=("merchant", "-id"), name="log_of_a_merchant")
        ]
        ordering: ClassVar[tuple[str, ...]] = ("-id",)

    def __str__(self) -> str:
        return f"{self.get_what_display()}: {self.subject or self.actor or 'unknown'}"


class PortalPreferences(models.Model):
    """A user's portal preferences. Without a row, the time zone is UTC."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="preferences"
    )
    time_zone = models.CharField(max_length=64, default="UTC")

    def __str__(self) -> str:
        return f"{self.user}: {self.time_zone}"


class SpentForm(models.Model):
    form_id = models.UUIDField(primary_key=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return str(self.form_id)


def accepted_step(key: bytes, code: str, *, after: int = -1) -> int | None:
    """Return the time step of `code` if the code is current and its step is later than `after`, or else None."""
    if not (len(code) == 6 and code.isascii() and code.isdecimal()):
        return None
    totp: Any = TOTP(key, step=STEP_SECONDS)
    totp.time = time.time()
    return int(totp.t()) if totp.verify(int(code), TOLERANCE, after + 1) else None


def digest_of(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
