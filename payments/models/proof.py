"""What binds where no reference fits: the payer's signature."""

from django.db import models
from django.utils import timezone

from chains.models import Chain, Token
from payments.models.request import PaymentRequest
from payments.models.route import Route


class PayerProof(models.Model):
    """A wallet's signature under a message that names the request.

    What `address` itself sends to `recipient_address` between the two times belongs to the request. Of several proofs
    for the same chain, token and recipient the newest given before the transfer's block counts, else the first later
    one. `head_block` is the chain's newest block when the proof was verified; null for proofs from before it was kept.
    """

    request = models.ForeignKey(PaymentRequest, on_delete=models.CASCADE, related_name="payer_proofs")
    route = models.OneToOneField(Route, on_delete=models.CASCADE, related_name="+")
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+")
    token = models.ForeignKey(Token, on_delete=models.PROTECT, related_name="+")
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
