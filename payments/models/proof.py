"""Payers' signatures, which bind transfers that can't carry a reference."""

from django.db import models
from django.utils import timezone

from chains.models import Chain, Token
from payments.models.request import PaymentRequest
from payments.models.route import Route


class PayerProof(models.Model):
    """A wallet's signature of a message that names the request.

    Transfers that `address` itself makes to `recipient_address` between `not_before` and `not_after` belong to the
    request. If there are several proofs for the same chain, token and recipient, the newest one given before the
    transfer's block counts, else the next one. `head_block` is the chain's newest block when the proof was verified;
    it is null for proofs from before the column was added.
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
