"""Requests, payments and what became of them, to look at; and the two things that a person may do about them."""

import uuid
from datetime import UTC
from typing import Any

from django.contrib import admin, messages
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from chains.amounts import display_amount
from chains.models import Token
from config import portal
from config.api.errors import ApiError
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.models.payment import MAX_RETRIES, RETRYABLE_FAILURES
from payments.representations import payment_url
from payments.requests import cancel_request
from payments.submission import retry_payment

_REQUEST_COLOURS = {"active": "info", "completed": "success", "expired": "warning", "cancelled": "danger"}
_PAYMENT_COLOURS = {"pending": "info", "processing": "info", "completed": "success", "failed": "danger"}


def in_token(raw: int | None, token: Token | None) -> str:
    """Return base units as people write them, with the symbol: `10.50 USDC`."""
    return "—" if raw is None or token is None else f"{display_amount(raw, token.decimals)} {token.symbol}"


def ends(transaction_hash: str) -> str:
    """Return a hash's first and last characters."""
    return f"{transaction_hash[:10]}…{transaction_hash[-6:]}"


class _Records(portal.ReadOnly, portal.ModelAdmin[Any]):
    """Rows by the million: never all counted, found by exact values that have an index."""

    show_full_result_count = False
    paginator = portal.BoundedPaginator
    list_per_page = 50
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[portal.RecordList]:  # noqa: ARG002 - the admin interface
        """Return the kind of list."""
        return portal.RecordList

    def matching(self, text: str) -> Q:
        """Return what `text` may mean."""
        raise NotImplementedError

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 - the admin interface
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that `search_term` names exactly."""
        text = search_term.strip()
        return (queryset.filter(self.matching(text)) if text else queryset), False


class PaymentInline(portal.ReadOnly, portal.TabularInline[Payment, PaymentRequest]):
    """The payments of one request."""

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
        return portal.badge(payment.status, _PAYMENT_COLOURS)

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


class TransitionInline(portal.ReadOnly, portal.TabularInline[Transition, Any]):
    """What happened, in order: each change, by whom and why."""

    model = Transition
    extra = 0
    fields = readonly_fields = ("at", "subject", "change", "actor", "reason")
    verbose_name_plural = "History"
    hide_title = True

    @admin.display(description="When (UTC)")
    def at(self, transition: Transition) -> str:
        """Return when, to the second."""
        return f"{transition.created_at.astimezone(UTC):%-d %b %Y, %H:%M:%S}"

    @admin.display(description="What")
    def subject(self, transition: Transition) -> str:
        """Return what changed."""
        return transition.payment_id or "the request"

    @admin.display(description="Change")
    def change(self, transition: Transition) -> str:
        """Return from what to what."""
        return str(transition)


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
class PaymentRequestAdmin(_Records):
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
        context["may_cancel"] = active and _may_change(request, "paymentrequest")
        return super().render_change_form(request, context, **options)

    def cancel_view(self, request: HttpRequest, request_id: uuid.UUID) -> HttpResponse:
        """Ask, then cancel for the merchant."""
        portal.demand(_may_change(request, "paymentrequest"))
        order = self.get_object(request, str(request_id))
        if order is None:
            return _not_there(request, "payments_paymentrequest", request_id)
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
            cancel_request(order.pk, actor=_actor(request))
        except ApiError as error:
            messages.error(request, str(error.detail))
        else:
            self.log_change(request, order, "Cancelled.")
            messages.success(request, f"{order} is cancelled.")
        return HttpResponseRedirect(portal.change_url(order))

    @admin.display(description="Status", ordering="status")
    def state(self, order: PaymentRequest) -> str:
        """Return its status."""
        return portal.badge(order.status, _REQUEST_COLOURS)

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


@admin.register(Payment)
class PaymentAdmin(_Records):
    """Transactions that were said to pay a request, and what the chain says of them."""

    list_display = ("id", "state", "received", "order", "short_hash", "failure_code", "created_at")
    list_filter = ("status", "failure_code", "chain", "reorged")
    list_select_related = ("request__token", "request__merchant", "chain")
    # Requests' ids are in the order of time and have an index, which `created_at` has not.
    ordering = ("-request_id",)
    search_fields = ("id",)
    search_help_text = "Payment id, transaction hash, sender, or the request's shortcode, in full"
    inlines = (TransitionInline,)
    readonly_fields = ("state", "received", "sent", "order", "explorer", "vanished")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "state",
                    "status_detail",
                    "failure_code",
                    "failure_message",
                    "received",
                    "sent",
                    "order",
                )
            },
        ),
        (
            "On the chain",
            {
                "fields": (
                    "chain",
                    "transaction_hash",
                    "explorer",
                    "from_address",
                    "block_number",
                    "block_time",
                    "confirmations",
                    "confirmations_required",
                    "bound_by",
                    "vanished",
                )
            },
        ),
        (
            "Verification",
            {
                "fields": (
                    "attempts",
                    "retries",
                    "next_check_at",
                    "lease_until",
                    "unanswered_since",
                    "created_at",
                    "completed_at",
                    "failed_at",
                )
            },
        ),
    )

    def matching(self, text: str) -> Q:
        """Return the payments that `text` may mean."""
        hashes = {text, text.lower()}
        return (
            Q(pk=text)
            | Q(transaction_hash__in=hashes)
            | Q(from_address__iexact=text)
            | Q(request__shortcode=text)
        )

    def get_urls(self) -> list[URLPattern]:
        """Add the page that retries."""
        retry = path(
            "<str:payment_id>/retry/",
            self.admin_site.admin_view(self.retry_view),
            name="payments_payment_retry",
        )
        return [retry, *super().get_urls()]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> Any:  # type: ignore[override]
        """Offer what can be done."""
        payment: Payment | None = options.get("obj")
        retryable = (
            payment is not None
            and payment.failure_code in RETRYABLE_FAILURES
            and not payment.is_open
            and payment.retries_left > 0
        )
        context["may_retry"] = retryable and _may_change(request, "payment")
        return super().render_change_form(request, context, **options)

    def retry_view(self, request: HttpRequest, payment_id: str) -> HttpResponse:
        """Ask, then have the chain asked anew."""
        portal.demand(_may_change(request, "payment"))
        payment = self.get_object(request, payment_id)
        if payment is None:
            return _not_there(request, "payments_payment", payment_id)
        if request.method != "POST":
            return portal.confirmation(
                request,
                payment,
                self,
                title=f"Look at {payment} again",
                explanation="The chain is asked anew about this transaction. "
                f"{payment.retries_left} of {MAX_RETRIES} times are left.",
                button="Look again",
            )
        try:
            retry_payment(payment, actor=_actor(request))
        except ApiError as error:
            messages.error(request, str(error.detail))
        else:
            self.log_change(request, payment, "Retried.")
            messages.success(request, f"{payment} is being looked at again.")
        return HttpResponseRedirect(portal.change_url(payment))

    @admin.display(description="Status", ordering="status")
    def state(self, payment: Payment) -> str:
        """Return its status."""
        return portal.badge(payment.status, _PAYMENT_COLOURS)

    @admin.display(description="Received")
    def received(self, payment: Payment) -> str:
        """Return what arrived, in the requested token."""
        return in_token(payment.amount_received, payment.request.token)

    @admin.display(description="Sent")
    def sent(self, payment: Payment) -> str:
        """Return what the customer paid with."""
        return in_token(payment.amount, payment.token)

    @admin.display(description="Request")
    def order(self, payment: Payment) -> str:
        """Return a link to the request that it pays."""
        return portal.link(portal.change_url(payment.request), payment.request.shortcode)

    @admin.display(description="Transaction")
    def short_hash(self, payment: Payment) -> str:
        """Return the hash's ends."""
        return ends(payment.transaction_hash)

    @admin.display(description="Reorganised away")
    def vanished(self, payment: Payment) -> str:
        """Return whether its block disappeared after it had completed."""
        return "yes: it needs a person" if payment.reorged else "no"

    @admin.display(description="Explorer")
    def explorer(self, payment: Payment) -> str:
        """Return a link to the transaction, where the catalogue names an explorer."""
        base = payment.chain.explorer_url.rstrip("/")
        if not base.startswith("https://"):
            return "—"
        url = f"{base}/tx/{payment.transaction_hash}"
        return portal.link(url, url)


@admin.register(ConsumedTransfer)
class ConsumedTransferAdmin(_Records):
    """Transfers that were credited: each counts once in the whole system."""

    list_display = ("transaction_hash", "slot", "chain", "credited", "payment", "created_at")
    list_select_related = ("chain", "payment__request__token")
    ordering = ("-id",)
    search_fields = ("transaction_hash",)
    search_help_text = "Transaction hash or payment id, in full"
    fields = readonly_fields = ("transaction_hash", "slot", "chain", "credited", "payment", "created_at")

    def matching(self, text: str) -> Q:
        """Return the transfers that `text` may mean."""
        return Q(transaction_hash__in={text, text.lower()}) | Q(payment_id=text)

    @admin.display(description="Credited")
    def credited(self, transfer: ConsumedTransfer) -> str:
        """Return the amount, in the requested token."""
        return in_token(transfer.amount, transfer.payment.request.token)


@admin.register(Transition)
class TransitionAdmin(_Records):
    """Every change of every status."""

    list_display = ("created_at", "request", "payment", "change", "actor", "reason")
    list_select_related = ("request", "payment")
    ordering = ("-id",)
    search_fields = ("actor",)
    search_help_text = "A request's shortcode or a payment's id, in full"
    fields = readonly_fields = ("created_at", "request", "payment", "change", "actor", "reason")

    def matching(self, text: str) -> Q:
        """Return the changes that `text` may mean."""
        return Q(request__shortcode=text) | Q(payment_id=text)

    @admin.display(description="Change")
    def change(self, transition: Transition) -> str:
        """Return from what to what."""
        return str(transition)


def _may_change(request: HttpRequest, model: str) -> bool:
    return request.user.has_perm(f"payments.change_{model}")


def _actor(request: HttpRequest) -> str:
    return f"admin {request.user.get_username()}"[:100]


def _not_there(request: HttpRequest, model: str, key: object) -> HttpResponse:
    messages.error(request, f"There is nothing with the id {key}.")
    return HttpResponseRedirect(reverse(f"admin:{model}_changelist"))
