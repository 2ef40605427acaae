"""A payment link: each customer who opens it and starts to pay gets a payment request."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain, Token
from merchants.identifiers import prefixed_id, shortcode
from merchants.models import Merchant

LINK_ID_LENGTH = 27
_PRICE_KINDS = ("amount", "price", "min_amount")
"""Exactly one of these columns has a value."""


def new_link_id() -> str:
    return prefixed_id("pl_")


def _is_only(name: str) -> Q:
    return Q(**{f"{each}__isnull": each != name for each in _PRICE_KINDS})


class PaymentLink(models.Model):
    """A page on which each customer creates a payment request. Amounts are base units of `token`.

    The link has an `amount`, or a `price` that is converted for each customer. An open link has neither: the
    customer enters an amount from `min_amount` to `max_amount`. `code` is the last part of the page's URL.
    `requests_count` counts the requests of the link; it changes under the row's lock
    (`payments.requests.link_limits`). `created_by` is the actor, as in the history.
    """

    id = models.CharField(max_length=LINK_ID_LENGTH, primary_key=True, default=new_link_id, editable=False)
    merchant = models.ForeignKey(
        Merchant, on_delete=models.PROTECT, related_name="payment_links", db_index=False
    )
    code = models.CharField(max_length=12, unique=True, default=shortcode, editable=False)
    name = models.CharField(max_length=100)
    is_active = models.BooleanField("active", default=True)
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    token = models.ForeignKey(Token, on_delete=models.PROTECT, related_name="+", db_index=False)
    recipient_address = models.CharField(max_length=64)
    amount = BaseUnitsField(null=True, blank=True)
    price = models.JSONField(null=True, blank=True)
    min_amount = BaseUnitsField(null=True, blank=True)
    max_amount = BaseUnitsField(null=True, blank=True)
    description = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001 - absent is not empty
    redirect_url = models.CharField("redirect URL", max_length=2048, null=True, blank=True)  # noqa: DJ001 - absent is not empty
    metadata = models.JSONField(default=dict, blank=True)
    max_payments = models.PositiveIntegerField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    requests_count = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.CharField(max_length=100, blank=True, default="", editable=False)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.CheckConstraint(
                condition=_is_only("amount") | _is_only("price") | _is_only("min_amount"),
                name="payment_link_has_one_price",
            ),
            models.CheckConstraint(
                condition=Q(max_amount__isnull=True) | Q(max_amount__gte=F("min_amount")),
                name="payment_link_max_is_not_below_min",
            ),
            models.CheckConstraint(
                condition=(Q(amount__isnull=True) | Q(amount__gt=0))
                & (Q(min_amount__isnull=True) | Q(min_amount__gt=0)),
                name="payment_link_amounts_are_positive",
            ),
            base_units_constraint("amount", "payment_link"),
            base_units_constraint("min_amount", "payment_link"),
            base_units_constraint("max_amount", "payment_link"),
        )
        # tests/integration/payments/query_plans/queries.py has the query that needs this index.
        indexes = (models.Index(fields=("merchant", "-created_at", "-id"), name="payment_link_listed"),)

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return f"{settings.CHECKOUT_URL}/l/{self.code}"

    @property
    def is_open_amount(self) -> bool:
        return self.min_amount is not None


class PaymentLinkChange(models.Model):
    link = models.ForeignKey(PaymentLink, on_delete=models.CASCADE, related_name="changes")
    what = models.CharField(max_length=300)
    actor = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("created_at", "id")

    def __str__(self) -> str:
        return self.what
