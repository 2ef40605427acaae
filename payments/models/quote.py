"""The quotes of swap routes. A transaction with the id of a quote belongs to the quote's request."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from payments.models.route import Route


class Quote(models.Model):
    """A provider's offer for one route. Building the route again later makes a new quote.

    - `bound_by` is a unique id of 32 bytes. Call data that contains it binds a transaction to the request.
    - `amount_in` is in base units of the route's token, the other amounts in base units of the requested token.
    - `action` leaves the server only as the unsigned transaction. `tracking` never leaves the server.
    - `built_at` is when the transaction was returned to the customer. A quote that was never built binds nothing.
    - `watched_until` is the expiry that the request had at `built_at`. The chain is searched for the id until a day
      after the request's end.
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
    watched_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(
                fields=("watched_until",),
                condition=Q(watched_until__isnull=False),
                name="quote_watched_until",
            ),
        )
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
