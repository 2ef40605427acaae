"""The routes that are offered to customers."""

from django.db import models
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain, Token
from merchants.identifiers import prefixed_id
from payments.models.request import PaymentRequest


class PaymentType(models.TextChoices):
    DIRECT = "direct"
    SWAP = "swap"


def new_route_id() -> str:
    """Return a new `rt_` id. The id is a capability: with it, anyone can build the route's transaction."""
    return prefixed_id("rt_")


class Route(models.Model):
    """A way to pay the unpaid rest of a request from one wallet.

    The wallet pays `amount`, in base units of `token`. The recipient has to get `amount_due`, in base units of the
    requested token. `amount_due` is null on a direct route, because it equals `amount` there. `provider` is then
    empty.

    A swap route has `quotes` with the transactions to sign. The route's `details` are shown to the customer:
    fees, gas, duration, tools, tags. On a sponsored route, the customer signs an `authorization` and the
    operator sends it.
    """

    id = models.CharField(max_length=27, primary_key=True, default=new_route_id, editable=False)
    request = models.ForeignKey(PaymentRequest, on_delete=models.CASCADE, related_name="routes")
    type = models.CharField(max_length=8, choices=PaymentType.choices, default=PaymentType.DIRECT)
    wallet_address = models.CharField(max_length=64)
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    token = models.ForeignKey(Token, on_delete=models.PROTECT, related_name="+", db_index=False)
    amount = BaseUnitsField()
    amount_due = BaseUnitsField(null=True, blank=True)
    provider = models.CharField(max_length=32, blank=True, db_default="", default="")
    details = models.JSONField(default=dict, db_default={}, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    built_at = models.DateTimeField(null=True, blank=True)
    proof_message = models.TextField(blank=True)
    is_sponsored = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = (base_units_constraint("amount", "route"), base_units_constraint("amount_due", "route"))

    def __str__(self) -> str:
        return self.id
