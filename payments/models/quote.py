"""The executable quotes behind swap routes: what a provider offered, and the id that ties a transaction to it."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from payments.models.route import Route


class Quote(models.Model):
    """One accepted offer of a provider for one route; a route that is built later again gets another.

    `bound_by` (32 bytes) stands in the call data and belongs to one quote of the whole system: that is what binds a
    transaction to the request (contract 7). Amounts are base units: `amount_in` of the route's token, the others of the
    requested one. `action` and `tracking` never leave the server but as the transaction that the customer signs.
    `built_at`: when that was handed out. A quote that never was binds nothing.
    """

    route = models.ForeignKey(Route, on_delete=models.CASCADE, related_name="quotes")
    provider = models.CharField(max_length=32)
    provider_quote_id = models.CharField(max_length=200, blank=True)
    bound_by = models.BinaryField(max_length=32)
    amount_in = BaseUnitsField()
    amount_out = BaseUnitsField()
    amount_out_min = BaseUnitsField()
    spender = models.CharField(max_length=64, blank=True)
    must_reset_approval = models.BooleanField(default=False)
    action = models.JSONField()
    tracking = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    built_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.UniqueConstraint(fields=("bound_by",), name="quote_id_binds_one_quote"),
            base_units_constraint("amount_in", "quote"),
            base_units_constraint("amount_out", "quote"),
            base_units_constraint("amount_out_min", "quote"),
            models.CheckConstraint(
                condition=Q(amount_in__gt=0, amount_out_min__gt=0), name="quote_moves_something"
            ),
        )

    def __str__(self) -> str:
        return f"{self.provider} {bytes(self.bound_by).hex()[:16]}"
