"""Messages that payers sign to prove which request a transfer pays, if the transfer can't carry a reference."""

from datetime import datetime

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain, Token
from payments.models.payment import Payment
from payments.models.request import PaymentRequest
from payments.models.route import Route


class PayerProof(models.Model):
    """A wallet's signature of a message that names the request.

    Transfers that `address` itself makes to `recipient_address` from `not_before` to `not_after` belong to the
    request. A wallet may sign for several requests with the same chain, token and recipient. Then a transfer belongs
    to the newest proof that was given before its block. `head_block` is the newest block when the proof was verified,
    or null in rows that are older than this column.
    """

    request = models.ForeignKey(PaymentRequest, on_delete=models.CASCADE, related_name="payer_proofs")
    route = models.OneToOneField(Route, on_delete=models.CASCADE, related_name="+")
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    token = models.ForeignKey(Token, on_delete=models.PROTECT, related_name="+", db_index=False)
    recipient_address = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    message = models.TextField()
    signature = models.TextField()
    not_before = models.DateTimeField()
    not_after = models.DateTimeField()
    verified_at = models.DateTimeField(default=timezone.now, editable=False)
    head_block = models.BigIntegerField(null=True, blank=True, editable=False)

    class Meta:
        indexes = (
            models.Index(
                fields=("address", "chain", "token", "recipient_address"), name="payer_proof_by_wallet"
            ),
        )

    def __str__(self) -> str:
        return f"{self.address} for {self.request_id}"


class TransferProof(models.Model):
    """A message that a sender signs after a transfer was mined, to prove that the transfer pays the payment's
    request.

    The message can be signed until `expires_at`. `verified_at` is when the signature was verified, or null.
    `needed` is the unpaid rest of the request at `verified_at`, in base units. `binds` is true if the proof was
    given in time. A later proof is only shown to the merchant.
    """

    payment = models.ForeignKey(
        Payment, on_delete=models.CASCADE, related_name="transfer_proofs", db_index=False
    )
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    transaction_hash = models.CharField(max_length=90)
    address = models.CharField(max_length=64)
    message = models.TextField()
    signature = models.TextField(blank=True)
    needed = BaseUnitsField(null=True, blank=True)
    binds = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    verified_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        constraints = (
            base_units_constraint("needed", "transfer_proof"),
            models.UniqueConstraint(
                fields=("payment", "transaction_hash", "address"),
                condition=Q(verified_at__isnull=False),
                name="transfer_proof_is_one_per_transaction_and_wallet",
            ),
        )
        indexes = (
            models.Index(fields=("payment", "address"), name="transfer_proof_of_payment"),
            models.Index(
                fields=("transaction_hash",),
                condition=Q(verified_at__isnull=False),
                name="transfer_proof_of_transaction",
            ),
        )

    def __str__(self) -> str:
        return f"{self.address} for {self.payment_id}"

    @property
    def given_at(self) -> datetime:
        if self.verified_at is None:
            raise ValueError("the message was not signed")
        return self.verified_at
