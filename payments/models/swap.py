"""A swap as its routing provider reports it."""

from django.db import models
from django.db.models import Q

from chains.fields import BaseUnitsField, base_units_constraint
from payments.models.payment import Payment


class Swap(models.Model):
    """The state of a swap at its routing provider. The row is created once the transaction is known to be a swap.

    - `next_poll_at`: the time of the next poll, or null.
    - `claim_id`, `lease_until`: the lease of the worker that polls it. A worker can store its result only while the
      claim id is its own.
    - `polls`: the number of responses from the provider.
    - `attempts`: the number of lookups in which our nodes did not confirm the reported delivery.
    - `provider_status`, `provider_url`: the provider's own status, and its page for the swap.
    - `reported_amount`: the reported amount in base units. The reported transaction is the lookup `delivery`.
    """

    payment = models.OneToOneField(Payment, on_delete=models.CASCADE, primary_key=True, related_name="swap")
    provider = models.CharField(max_length=32, blank=True)
    provider_status = models.CharField(max_length=64, blank=True)
    provider_url = models.CharField("provider URL", max_length=500, blank=True)
    polls = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_poll_at = models.DateTimeField(null=True, blank=True)
    claim_id = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    reported_amount = BaseUnitsField(null=True, blank=True)

    class Meta:
        constraints = (base_units_constraint("reported_amount", "swap"),)
        indexes = (
            models.Index(
                fields=("provider", "next_poll_at"),
                condition=Q(next_poll_at__isnull=False),
                name="swap_due",
            ),
        )

    def __str__(self) -> str:
        return f"{self.payment_id} by {self.provider}"


class Solver(models.Model):
    """An address that delivered a swap. Such an address pays for other customers, so it can't prove transfers
    as its own.

    Rows are only ever inserted.
    """

    address = models.CharField(max_length=64, primary_key=True)

    def __str__(self) -> str:
        return self.address


def swap_of(payment: Payment) -> Swap | None:
    """Return None if the payment's transaction is not known to be a swap."""
    swap: Swap | None = getattr(payment, "swap", None)
    return swap
