from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from chains.models import Token
from config.admin import filters
from merchants.staff.roles import visible_to
from payments.attention import LABELS, Matter, payments_with, requests_with
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.reading import with_status

REFUND_LABELS: dict[str, str] = {
    **{status.value: status.value for status in Refund.Status},
    Refund.Status.REQUIRES_ADDRESS.value: "needs an address",
}


class _Attention(filters.Dropdown):
    title = "attention"
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:  # noqa: ARG002 - the interface
        return [(matter.value, LABELS[matter]) for matter in Matter]

    @property
    def matter(self) -> Matter | None:
        return next((matter for matter in Matter if matter.value == self.value()), None)


class OfChain(filters.Related):
    """Filter requests by chain. The index on tokens keeps this fast, even for a chain with few requests."""

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[PaymentRequest]
    ) -> QuerySet[PaymentRequest] | None:
        rows = super().queryset(request, queryset)
        if rows is None or not self.lookup_val:
            return rows
        tokens = Token.objects.filter(chain_id__in=self.lookup_val).values_list("pk", flat=True)
        return rows.filter(token__in=list(tokens))


class RequestAttention(_Attention):
    def queryset(self, request: HttpRequest, queryset: QuerySet[PaymentRequest]) -> QuerySet[PaymentRequest]:
        own = visible_to(request.user, Payment.objects.all(), "request__merchant")
        return queryset if self.matter is None else requests_with(queryset, self.matter, own)


class PaymentAttention(_Attention):
    def queryset(self, request: HttpRequest, queryset: QuerySet[Payment]) -> QuerySet[Payment]:
        own = visible_to(request.user, PaymentRequest.objects.all(), "merchant")
        return queryset if self.matter is None else payments_with(queryset, self.matter, own)


class RefundStatus(filters.Dropdown):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, str]]:  # noqa: ARG002 - the interface
        return [(status, label.capitalize()) for status, label in REFUND_LABELS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Refund]) -> QuerySet[Refund]:  # noqa: ARG002 - the interface
        status = next((each for each in Refund.Status if each.value == self.value()), None)
        return queryset if status is None else with_status(queryset, status)
