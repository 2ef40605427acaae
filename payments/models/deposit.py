"""The deposit addresses that were shown, and small arrivals that wait to be credited."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain
from payments.models.request import PaymentRequest


class DepositAddress(models.Model):
    """The deposit address that was shown for a request, and how far it was searched for payments.

    `address` is derived from `factory`, the request's id and its recipient. `init_code_hash` is the hash of the
    code that deploys the forwarder. None of these values ever changes.

    At first, the chain's search checks the address in every block (`DiscoveryCursor.deposits_next_block`).
    `next_block` is then null. From 30 days after the request's end, a weekly check searches from `next_block` on.
    An address of native coin that no node can read gets a position of its own earlier, and later loses it again.
    `next_look_at` is when the next check is due, or null after the last check. `grouped_at` is when arrivals were
    last credited together (`WaitingArrival`).

    For native coin (`payments.coins`):

    - `swept` is the amount that the forwarder has swept, in base units. It includes sweeps before `next_block` or, if
      that is null, before `DiscoveryCursor.coins_next_block`.
    - `waiting_block` and `waiting_hash` are the block that showed a small arrival. `waiting_received` is the total
      that the address had received by then. The arrival is credited once the block is final, at most once an hour.
    """

    NO_RECIPIENT = "This is the deposit address of a payment request. Use the wallet behind it."

    request = models.OneToOneField(
        PaymentRequest, on_delete=models.PROTECT, primary_key=True, related_name="deposit"
    )
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    address = models.CharField(max_length=64)
    recipient_address = models.CharField(max_length=64)
    factory = models.CharField(max_length=64)
    init_code_hash = models.CharField(max_length=66)
    shown_at = models.DateTimeField(default=timezone.now, editable=False)
    next_block = models.BigIntegerField(null=True, blank=True, editable=False)
    next_look_at = models.DateTimeField(null=True, blank=True, editable=False)
    grouped_at = models.DateTimeField(null=True, blank=True, editable=False)
    swept = BaseUnitsField(default=0, db_default=0, editable=False)
    waiting_block = models.BigIntegerField(null=True, blank=True, editable=False)
    waiting_hash = models.CharField(max_length=90, blank=True, default="", db_default="", editable=False)
    waiting_received = BaseUnitsField(null=True, blank=True, editable=False)
    claim_id = models.UUIDField(null=True, blank=True, editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name_plural = "deposit addresses"
        constraints = (
            models.UniqueConstraint(fields=("address", "chain"), name="deposit_address_is_one_requests"),
            base_units_constraint("swept", "deposit_address"),
            base_units_constraint("waiting_received", "deposit_address"),
        )
        indexes = (
            models.Index(fields=("chain", "recipient_address"), name="deposit_address_recipient"),
            models.Index(
                fields=("chain",), condition=Q(next_block__isnull=True), name="deposit_address_each_block"
            ),
            models.Index(
                fields=("next_look_at",),
                condition=Q(next_look_at__isnull=False),
                name="deposit_address_due",
            ),
        )

    def __str__(self) -> str:
        return self.address


class WaitingArrival(models.Model):
    """A small transfer to a deposit address. The transfer waits to be credited together with others, at `due_at`
    or later.

    Of the arrivals that are due together, the largest `amount` comes first. Otherwise, many tiny amounts could delay
    a real payment. `amount` is used for nothing else, because only one node reported it. The row is deleted once the
    transaction is credited, or is final and does not pay the request.
    """

    request = models.ForeignKey(PaymentRequest, on_delete=models.PROTECT, related_name="+", db_index=False)
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    transaction_hash = models.CharField(max_length=90)
    amount = BaseUnitsField(default=0, db_default=0)
    due_at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("request", "transaction_hash"), name="waiting_arrival_waits_once"
            ),
            base_units_constraint("amount", "waiting_arrival"),
        )
        indexes = (models.Index(fields=("chain", "due_at"), name="waiting_arrival_due"),)

    def __str__(self) -> str:
        return self.transaction_hash
