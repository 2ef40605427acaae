from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from config.admin import portal
from config.admin.actions import WithActions
from config.admin.cells import copyable, exact_and_ago, in_zone, present, two_lines, when
from config.admin.filters import Autocompleted, Choices, Days
from merchants.staff.records import Records
from payments.admin import diagnosis
from payments.admin.actions import Cancel, RefundExcess, RefundRequest
from payments.admin.creating.pages import CreatesRequests
from payments.admin.creating.sharing import share_of
from payments.admin.deposits.checking import CheckDeposits
from payments.admin.export import Column, CsvExport, decimal
from payments.admin.filters import OfChain, RequestAttention
from payments.admin.records import (
    REQUEST_COLOURS,
    address_link,
    amount_cell,
    deposit_facts,
    in_token,
    payment_badges,
    price_facts,
    together,
    transaction_cell,
)
from payments.admin.search import matching_requests
from payments.admin.timeline import timeline_of_request
from payments.api.links import payment_url
from payments.models import Payment, PaymentRequest, Refund
from payments.prices.late_payments import rate_now
from payments.refunds.reading import refunds_by_request, refunds_of

COLUMNS = (
    Column("id", lambda order: order.pk),
    Column("shortcode", lambda order: order.shortcode),
    Column("status", lambda order: order.status),
    Column("merchant_id", lambda order: order.merchant_id),
    Column("merchant", lambda order: order.merchant.name),
    Column("external_id", lambda order: order.external_id),
    Column("description", lambda order: order.description),
    Column("chain_id", lambda order: order.chain_id),
    Column("chain", lambda order: order.chain.name),
    Column("token", lambda order: order.token.symbol),
    Column("token_address", lambda order: order.token.contract_address),
    Column("amount", lambda order: decimal(order.amount, order.token)),
    Column("amount_paid", lambda order: decimal(order.amount_paid, order.token)),
    Column("amount_remaining", lambda order: decimal(order.amount_remaining, order.token)),
    Column("amount_overpaid", lambda order: decimal(order.amount_overpaid, order.token)),
    Column("price", lambda order: (order.price or {}).get("amount", "")),
    Column("price_currency", lambda order: (order.price or {}).get("currency", "")),
    Column("rate", lambda order: (order.rate or {}).get("value", "")),
    Column("recipient_address", lambda order: order.recipient_address),
    Column("paid_late", lambda order: order.paid_late),
    Column("created_at", lambda order: order.created_at),
    Column("expires_at", lambda order: order.expires_at),
    Column("completed_at", lambda order: order.completed_at),
    Column("expired_at", lambda order: order.expired_at),
    Column("cancelled_at", lambda order: order.cancelled_at),
    Column("payment_url", payment_url),
    Column("amount_refunded", lambda order: decimal(order.refund_totals.completed, order.token)),
    Column("amount_refund_open", lambda order: decimal(order.refund_totals.open, order.token)),
    Column("is_simulated", lambda order: order.is_simulated),
    Column("payment_link", lambda order: order.payment_link_id),
)


def _with_refunds(rows: Iterable[PaymentRequest]) -> list[PaymentRequest]:
    """Load all refunds in one query. `PaymentRequest.net` needs them."""
    requests = list(rows)
    refunds_by_request(requests)
    return requests


class _RequestList(portal.RecordList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = _with_refunds(self.result_list)


@admin.register(PaymentRequest)
class PaymentRequestAdmin(CreatesRequests, WithActions, CsvExport, Records):
    change_form_template = "admin/payments/paymentrequest/change_form.html"
    confirmed_actions = (CheckDeposits(), RefundExcess(), RefundRequest(), Cancel())
    export_name = "payment-requests"
    export_columns = COLUMNS
    export_related = ("merchant", "token", "chain")

    list_display = ("code", "state", "asked", "owner", "network", "created")
    list_filter = (
        ("status", Choices),
        RequestAttention,
        ("merchant", Autocompleted),
        ("chain", OfChain),
        ("token", Autocompleted),
        ("created_at", Days),
    )
    linked_by = ("payment_link",)
    list_select_related = ("merchant", "token", "chain")
    list_class = _RequestList
    ordering = ("-created_at", "-id")
    search_help_text = "Shortcode, order number, transaction hash, wallet, payment id or request id"
    readonly_fields = ("reference_hex",)
    fieldsets = (
        (
            "For the customer and the merchant",
            {"fields": ("description", "metadata", "redirect_url", "cancel_url", "webhook_url")},
        ),
        ("Binding", {"fields": ("references", "reference_hex")}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: PaymentRequest | None = None) -> Any:
        """Hide the fields that are empty for this request, such as metadata and URLs."""
        sections: Any = super().get_fieldsets(request, obj)
        return [
            (title, {**options, "fields": fields})
            for title, options in sections
            if (
                fields := [
                    name for name in options["fields"] if getattr(obj, name, True) not in (None, "", {})
                ]
            )
        ]

    def listed(self, rows: QuerySet[PaymentRequest]) -> QuerySet[PaymentRequest]:
        """Hide the internal requests through which refunds are sent. The list of refunds shows the refunds instead."""
        return rows.filter(is_refund=False)

    def found(self, rows: QuerySet[PaymentRequest], text: str) -> QuerySet[PaymentRequest]:
        return matching_requests(rows, text)

    def get_queryset(self, request: HttpRequest) -> QuerySet[PaymentRequest]:
        orders: QuerySet[PaymentRequest] = super().get_queryset(request)
        undone = Payment.objects.filter(request=OuterRef("pk"), reorged=True)
        return orders.annotate(is_undone=Exists(undone))

    def read(self, rows: QuerySet[PaymentRequest]) -> list[PaymentRequest]:
        return _with_refunds(rows)

    def beside(self, request: HttpRequest, order: PaymentRequest | None) -> dict[str, Any]:
        if order is None:
            return super().beside(request, order)
        _with_refunds([order])
        payments = list(
            order.payments.select_related(
                "chain", "token", "request__token", "request__chain", "lookup", "swap__delivery"
            ).order_by("-created_at", "-id")
        )
        return {
            **super().beside(request, order),
            "title": f"Payment request {order}",
            "amount": in_token(order.amount, order.token),
            "badges": _badges(order),
            "diagnosis": diagnosis.of_request(order, payments, timezone.now()),
            "facts": present(self._facts(order)),
            "share": share_of(order) if order.status == "active" and not order.is_refund else None,
            "payments": [_line(payment) for payment in payments],
            "story": timeline_of_request(
                order, payments, with_webhooks=request.user.has_perm("webhooks.view_delivery")
            ),
        }

    def _facts(self, order: PaymentRequest) -> list[tuple[str, object]]:
        page = payment_url(order)
        facts: list[tuple[str, object]] = [
            ("Paid", in_token(order.amount_paid, order.token)),
            ("Remaining", in_token(order.amount_remaining, order.token)),
            ("Merchant", portal.link(portal.change_url(order.merchant), str(order.merchant))),
            ("Request ID", copyable(str(order.pk))),
            ("Order number", copyable(order.external_id or "")),
            ("Token", f"{order.token.name} ({order.token.symbol}) on {order.chain}"),
            (
                "Paid to",
                copyable(order.recipient_address, address_link(order.chain, order.recipient_address)),
            ),
            *deposit_facts(order),
            ("Created", exact_and_ago(order.created_at)),
            (
                "Expires" if order.status == "active" else "Expiry",
                exact_and_ago(order.expires_at),
            ),
            ("Checkout page", copyable(page, portal.link(page, page))),
        ]
        if order.payment_link is not None:
            facts.insert(
                5,
                ("Payment link", portal.link(portal.change_url(order.payment_link), str(order.payment_link))),
            )
        if order.amount_overpaid:
            facts.insert(2, ("Overpaid by", in_token(order.amount_overpaid, order.token)))
        if order.has_refunds:
            refunds = f"{reverse('admin:payments_refund_changelist')}?q={order.shortcode}"
            refunded = in_token(order.refund_totals.completed, order.token)
            facts.insert(
                2, ("Refunded", format_html("{} · {}", refunded, portal.link(refunds, "Show refunds")))
            )
            if order.refund_totals.open:
                facts.insert(3, ("Open refunds", in_token(order.refund_totals.open, order.token)))
        facts = [*_open_refund_links(order), *facts]
        if order.price and order.rate and order.can_be_accepted:
            current = rate_now(order)
            text = f"{current} {order.rate['currency']} for 1 {order.rate['token']}" if current else "unknown"
            return [*price_facts(order), ("Rate now", text), *facts]
        return [*price_facts(order), *facts]

    @admin.display(description="Request", ordering="created_at")
    def code(self, order: PaymentRequest) -> str:
        return two_lines(format_html('<span class="q-code">{}</span>', order.shortcode), order.external_id)

    @admin.display(description="Status")
    def state(self, order: PaymentRequest) -> str:
        return _badges(order)

    @admin.display(description="Amount")
    def asked(self, order: PaymentRequest) -> str:
        """Return the requested amount and, if it differs, the paid amount."""
        partly = order.amount_paid not in (0, order.amount)
        return two_lines(
            amount_cell(order.amount, order.token),
            format_html("{} paid", amount_cell(order.amount_paid, order.token)) if partly else "",
        )

    @admin.display(description="Merchant")
    def owner(self, order: PaymentRequest) -> str:
        return portal.link(portal.change_url(order.merchant), str(order.merchant))

    @admin.display(description="Chain")
    def network(self, order: PaymentRequest) -> str:
        return str(order.chain)

    @admin.display(description=in_zone("Created"), ordering="created_at")
    def created(self, order: PaymentRequest) -> str:
        return when(order.created_at)

    @admin.display(description="Reference on the chain")
    def reference_hex(self, order: PaymentRequest) -> str:
        return f"0x{bytes(order.reference).hex()}"


def _badges(order: PaymentRequest) -> str:
    irregular = [
        ("overpaid", order.amount_overpaid > 0),
        ("part paid", order.status != PaymentRequest.Status.COMPLETED and 0 < order.net < order.amount),
        ("late", order.paid_late),
        ("reorged", getattr(order, "is_undone", False)),
    ]
    labels = [portal.badge(order.status, REQUEST_COLOURS)]
    if order.is_refund:
        labels.append(portal.badge("refund", {"refund": "info"}))
    labels += [portal.badge(word, {word: "warning"}) for word, applies in irregular if applies]
    if order.is_simulated:
        labels.append(portal.badge("test", {"test": "warning"}))
    return together(labels)


def _open_refund_links(order: PaymentRequest) -> list[tuple[str, object]]:
    """Return the next step of each open refund: the customer's link, or the page on which the merchant signs the
    refund.
    """
    facts: list[tuple[str, object]] = []
    for each in refunds_of(order) if order.has_refunds else []:
        amount = in_token(each.refund.amount, order.token)
        if each.standing.status == Refund.Status.REQUIRES_ADDRESS:
            url = each.refund.claim_url
            facts.append((f"Customer’s link to the refund of {amount}", copyable(url, portal.link(url, url))))
        elif each.standing.status in (Refund.Status.READY, Refund.Status.FAILED):
            link = portal.link(portal.change_url(each.refund), "Sign it with your wallet")
            facts.append((f"Refund of {amount}", link))
    return facts


def _line(payment: Payment) -> dict[str, object]:
    return {
        "url": portal.change_url(payment),
        "id": payment.pk,
        "state": payment_badges(payment),
        "received": in_token(payment.amount_received, payment.request.token),
        "seen": in_token(payment.amount, payment.token),
        "transaction": transaction_cell(payment),
        "detail": payment.failure_message or payment.status_detail,
        "submitted": when(payment.created_at),
    }
