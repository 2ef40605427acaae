"""Consumed transfers, and the history of status changes."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain
from payments.models.payment import Payment
from payments.models.request import PaymentRequest


class ConsumedTransfer(models.Model):
    """A transfer that was credited. A unique constraint on its position prevents a second credit.

    The row is inserted in the database transaction that credits the payment, and never changes. `slot` is the
    transfer's position in the chain transaction. For native coin at a deposit address, `transaction_hash` is that
    address and `slot` is the payment's `deposit_sequence`.

    `account` is the token account that received the transfer on Solana. The credits of one transaction to one
    account never exceed the account's gain. The oldest rows have no account, and `mint:owner` as their slot.
    """

    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    transaction_hash = models.CharField(max_length=90)
    slot = models.CharField(max_length=160)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="consumed_transfers")
    account = models.CharField(max_length=64, blank=True, default="", db_default="")
    amount = BaseUnitsField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = "credited transfer"
        constraints = (
            models.UniqueConstraint(
                fields=("chain", "transaction_hash", "slot"), name="consumed_transfer_counts_once"
            ),
            models.CheckConstraint(
                condition=~Q(transaction_hash="") & ~Q(slot="") & Q(amount__gt=0),
                name="consumed_transfer_is_complete",
            ),
            base_units_constraint("amount", "consumed_transfer"),
        )

    def __str__(self) -> str:
        return f"{self.transaction_hash}:{self.slot}"


class Transition(models.Model):
    """A status change of a payment, or of a request if `payment` is null."""

    request = models.ForeignKey(PaymentRequest, on_delete=models.PROTECT, related_name="transitions")
    payment = models.ForeignKey(
        Payment, on_delete=models.PROTECT, null=True, blank=True, related_name="transitions", db_index=False
    )
    from_status = models.CharField(max_length=16, blank=True)
    to_status = models.CharField(max_length=16)
    actor = models.CharField(max_length=100)
    reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = "status change"
        ordering = ("id",)
        indexes = (
            BrinIndex(fields=("created_at",), autosummarize=True, name="transition_created"),
            models.Index(
                fields=("payment",), condition=Q(payment__isnull=False), name="transition_of_payment"
            ),
        )

    def __str__(self) -> str:
        return f"{self.from_status or 'new'} → {self.to_status}"
