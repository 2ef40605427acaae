"""The stored calls with an `Idempotency-Key`."""

from datetime import datetime

from django.db import models
from django.db.models import Q


class IdempotencyKey(models.Model):
    """A key of one merchant.

    While a call with the key runs, the call holds the key until `lease_until`. After that, the row has the response
    until `expires_at`.

    `fingerprint` is a digest of the first call's path and body.
    """

    merchant = models.ForeignKey(
        "merchants.Merchant", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=32)
    claim_id = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.BinaryField(null=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=("merchant", "key"), name="one_row_per_idempotency_key"),
            models.CheckConstraint(
                name="idempotency_key_claimed_or_answered",
                condition=Q(
                    claim_id__isnull=False, lease_until__isnull=False, status__isnull=True, body__isnull=True
                )
                | Q(
                    claim_id__isnull=True, lease_until__isnull=True, status__isnull=False, body__isnull=False
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.key

    def is_free(self, now: datetime) -> bool:
        """Whether a new call may claim the key: the response has expired, or the first call crashed."""
        return self.expires_at <= now or (self.lease_until is not None and self.lease_until <= now)
