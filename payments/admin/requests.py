"""Payment requests: what merchants asked for, and how much of it came."""

import uuid
from typing import Any

from django.contrib import admin, messages
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path

from config import portal
from config.api.errors import ApiError
from merchants.portal import MerchantScoped
from payments.admin.records import (
    PAYMENT_COLOURS,
    REQUEST_COLOURS,
    Records,
    TransitionInline,
    actor_of,
    ends,
    in_token,
    may,
    not_there,
)
from payments.models import Payment, PaymentRequest
from payments.representations import payment_url
from payments.requests import cancel_request


class PaymentInline(MerchantScoped, portal.ReadOnly, portal.TabularInline[Payment, PaymentRequest]):
    """The payments of one request."""

    merchant_path = "request__merchant"
    model = Payment
    fk_name = "request"
    extra = 0
    fields = readonly_fields = ("page", "state", "received", "transaction", "reason", "submitted")
    hide_title = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Payment]:
        """Bring along what the amounts are written with."""
        return super().get_queryset(request).select_related("request__token")

    @admin.display(description="Payment")
    def page(self, payment: Payment) -> str:
        """Return a link to the payment's page."""
        return portal.link(portal.change_url(payment), payment.pk)

    @admin.display(description="Status")
    def state(self, payment: Payment) -> str:
        """Return its status."""
        return portal.badge(payment.status, PAYMENT_COLOURS)

    @admin.display(description="Transaction")
    def transaction(self, payment: Payment) -> str:
        """Return the hash's ends."""
        return ends(payment.transaction_hash)

    @admin.display(description="Submitted (UTC)")
    def submitted(self, payment: Payment) -> str:
        """Return when it was submitted."""
        return portal.moment(payment.created_at)

    @admin.display(description="Received")
    def received(self, payment: Payment) -> str:
        """Return what arrived, in the requested token."""
        return in_token(payment.amount_received, payment.request.token)

    @admin.display(description="Detail")
    def reason(self, payment: Payment) -> str:
        """Return why it failed, or what it waits for."""
        return payment.failure_message or payment.status_detail


class AttentionFilter(admin.SimpleListFilter):
    """What needs a person: more came than was asked for, or it came after the end."""

    title = "attention"
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the admin interface
        """Return the choices."""
        return [("overpaid", "Overpaid"), ("partly", "Ended partly paid"), ("late", "Paid late")]

    def queryset(
        self,
        request: HttpRequest,  # noqa: ARG002 - the admin interface
        queryset: QuerySet[PaymentRequest],
    ) -> QuerySet[PaymentRequest]:
        """Return the chosen ones."""
        if self.value() == "overpaid":
            return queryset.filter(amount_paid__gt=F("amount"))
        if self.value() == "partly":
            return queryset.filter(status__in=("expired", "cancelled"), amount_paid__gt=0)
        return queryset.filter(paid_late=True) if self.value() == "late" else queryset


@admin.register(PaymentRequest)
class PaymentRequestAdmin(Records):
    """What merchants asked for, and how much of it came."""

    list_display = (
        "shortcode",
        "state",
        "asked",
        "paid",
        "merchant",
        "external_id",
        "created_at",
    )
    list_filter = ("status", AttentionFilter, "chain")
    list_select_related = ("merchant", "token")
    search_fields = ("shortcode",)
    search_help_text = "Shortcode, id, your own order number, transaction hash or recipient, in full"
    inlines = (PaymentInline, TransitionInline)
    readonly_fields = ("checkout", "state", "asked", "paid", "rest", "more", "late", "reference_hex")
    fieldsets = (
        (
            None,
            {"fields": ("state", "asked", "paid", "rest", "more", "recipient_address", "token", "merchant")},
        ),
        (
            "Times (UTC)",
            {
                "fields": (
                    "created_at",
                    "expires_at",
                    "completed_at",
                    "expired_at",
                    "cancelled_at",
                    "late",
                )
            },
        ),
        (
            "For the customer and the merchant",
            {
                "fields": (
                    "checkout",
                    "external_id",
                    "description",
                    "metadata",
                    "redirect_url",
                    "cancel_url",
                    "webhook_url",
                )
            },
        ),
        ("Identity", {"fields": ("id", "shortcode", "references", "reference_hex")}),
    )

    def matching(self, text: str) -> Q:
        """Return the requests that `text` may mean."""
        paid_by = Payment.objects.filter(transaction_hash__in={text, text.lower()}).values("request")
        found = (
            Q(shortcode=text) | Q(external_id=text) | Q(recipient_address__iexact=text) | Q(pk__in=paid_by)
        )
        try:
            return found | Q(pk=uuid.UUID(text))
        except ValueError:
            return found

    def get_urls(self) -> list[URLPattern]:
        """Add the page that cancels."""
        cancel = path(
            "<uuid:request_id>/cancel/",
            self.admin_site.admin_view(self.cancel_view),
            name="payments_paymentrequest_cancel",
        )
        return [cancel, *super().get_urls()]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> Any:  # type: ignore[override]
        """Offer what can be done."""
        order: PaymentRequest | None = options.get("obj")
        context["title"] = f"Payment request {order}"
        active = order is not None and order.status == PaymentRequest.Status.ACTIVE
        context["may_cancel"] = active and may(request, "cancel_paymentrequest")
        return super().render_change_form(request, context, **options)

    def cancel_view(self, request: HttpRequest, request_id: uuid.UUID) -> HttpResponse:
        """Ask, then cancel for the merchant."""
        portal.demand(may(request, "cancel_paymentrequest"))
        order = self.get_object(request, str(request_id))
        if order is None:
            return not_there(request, "payments_paymentrequest", request_id)
        if request.method != "POST":
            return portal.confirmation(
                request,
                order,
                self,
                title=f"Cancel {order}",
                explanation=f"Nobody can pay {in_token(order.amount, order.token)} to {order.merchant} by it any more. "
                "This can't be undone.",
                button="Cancel the request",
                dangerous=True,
            )
        try:
            cancel_request(order.pk, actor=actor_of(request))
        except ApiError as error:
            messages.error(request, str(error.detail))
        else:
            self.log_change(request, order, "Cancelled.")
            messages.success(request, f"{order} is cancelled.")
        return HttpResponseRedirect(portal.change_url(order))

    @admin.display(description="Status", ordering="status")
    def state(self, order: PaymentRequest) -> str:
        """Return its status."""
        return portal.badge(order.status, REQUEST_COLOURS)

    @admin.display(description="Amount")
    def asked(self, order: PaymentRequest) -> str:
        """Return what is asked for."""
        return in_token(order.amount, order.token)

    @admin.display(description="Paid")
    def paid(self, order: PaymentRequest) -> str:
        """Return what came."""
        return in_token(order.amount_paid, order.token)

    @admin.display(description="Still to be paid")
    def rest(self, order: PaymentRequest) -> str:
        """Return what is missing."""
        return in_token(order.amount_remaining, order.token)

    @admin.display(description="Overpaid by")
    def more(self, order: PaymentRequest) -> str:
        """Return what came beyond the amount."""
        return in_token(order.amount_overpaid, order.token)

    @admin.display(description="Paid late")
    def late(self, order: PaymentRequest) -> str:
        """Return whether the transfer that completed it came after the end."""
        return "yes" if order.paid_late else "no"

    @admin.display(description="Checkout page")
    def checkout(self, order: PaymentRequest) -> str:
        """Return a link to what the customer sees."""
        url = payment_url(order)
        return portal.link(url, url)

    @admin.display(description="Reference on the chain")
    def reference_hex(self, order: PaymentRequest) -> str:
        """Return the bytes that bind a transaction to it."""
        return f"0x{bytes(order.reference).hex()}"
