"""E-mails to send, and the kinds of notices."""

from collections.abc import Collection
from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from merchants.models import Merchant


class NoticeKind(models.TextChoices):
    """The kinds of e-mail notices that a member can choose."""

    FIRST_PAYMENT = "first_payment", "The first payment"
    ATTENTION = "attention", "Payments that need attention"
    ENDPOINT = "endpoint", "A failing or disabled webhook endpoint"
    SIGN_IN = "sign_in", "Each sign-in to your account"


WATCHED = (NoticeKind.FIRST_PAYMENT, NoticeKind.ATTENTION)
"""`payments.notices` checks if these notices are due, while at least one member wants them."""


class Mail(models.Model):
    """An e-mail to send. `merchants.mail.sending` deletes the row when the e-mail is sent or given up.

    `member` is set for a notice from which the member can unsubscribe. `subject` has no line breaks.
    """

    RECEIPT = "receipt"

    merchant = models.ForeignKey("merchants.Merchant", on_delete=models.CASCADE, related_name="+")
    member = models.ForeignKey(
        "merchants.StaffMembership", on_delete=models.CASCADE, null=True, related_name="+"
    )
    kind = models.CharField(max_length=32)
    recipient = models.EmailField()
    subject = models.CharField(max_length=300)
    text = models.TextField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    next_attempt_at = models.DateTimeField(default=timezone.now, editable=False)
    failures = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)
    claim_id = models.UUIDField(null=True, editable=False)
    lease_until = models.DateTimeField(null=True, editable=False)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=("next_attempt_at",), name="mail_due")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.merchant_id}"


class NoticeWatch(models.Model):
    """When to check next if a merchant's members need a notice, and the result of the last check.

    `known` lists the payments and other cases that needed attention at the last check. `known` is null before the first
    check, and if no member wanted notices at the last check.
    """

    merchant = models.OneToOneField(
        "merchants.Merchant", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    check_at = models.DateTimeField(default=timezone.now, editable=False)
    known = models.JSONField(null=True, editable=False)
    had_payment = models.BooleanField(default=False, db_default=False, editable=False)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=("check_at",), name="notice_watch_due")]

    def __str__(self) -> str:
        return str(self.merchant_id)

    @classmethod
    def start(cls, merchant: "Merchant", kinds: Collection[str]) -> None:
        """Start to watch the merchant, if a member who wants these kinds of notices needs it."""
        if {*kinds} & {*WATCHED}:
            cls.objects.get_or_create(merchant=merchant)
