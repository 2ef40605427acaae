from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from config.admin import portal
from config.admin.actions import WithActions
from config.admin.cells import (
    NOTHING,
    clipped,
    copyable,
    exact,
    exact_and_ago,
    in_zone,
    present,
    two_lines,
    when,
)
from config.admin.filters import Autocompleted, Choices, Days, Related
from merchants.staff.records import Records, names_merchant
from payments.admin import diagnosis
from payments.admin.actions import Accept, CheckNow, Retry
from payments.admin.export import Column, CsvExport, decimal
from payments.admin.filters import PaymentAttention
from payments.admin.records import (
    address_link,
    amount_cell,
    delivery_url,
    deposit_facts,
    in_token,
    payment_badges,
    transaction_cell,
    transaction_url,
    value_fact,
)
from payments.admin.search import matching_payments
from payments.admin.timeline import named, timeline_of_payment
from payments.models import Lookup, Payment, delivery_of, swap_of
from payments.providers.registry import provider_name


def _value(payment: Payment, name: str) -> object:
    """Return a field of the payment's value in currency, or "" if the payment has no value."""
    return (payment.value or {}).get(name, "")


def _arrived(payment: Payment) -> str:
    """Return the amount with all its digits, for the top of the page."""
    if payment.amount is None:
        return "Nothing received"
    if payment.amount_received is None:
        return f"{in_token(payment.amount, payment.token or payment.request.token)} seen"
    return in_token(payment.amount_received, payment.request.token)


def _block(lookup: Lookup) -> str:
    """Return the block of a transaction, or "" if it is not mined."""
    if lookup.block_number is None:
        return ""
    time = f", {exact(lookup.block_time)}" if lookup.block_time else ""
    return f"{lookup.block_number} ({lookup.block_hash}){time}"


COLUMNS = (
    Column("id", lambda payment: payment.pk),
    Column("payment_request", lambda payment: payment.request_id),
    Column("shortcode", lambda payment: payment.request.shortcode),
    Column("external_id", lambda payment: payment.request.external_id),
    Column("merchant_id", lambda payment: payment.request.merchant_id),
    Column("merchant", lambda payment: payment.request.merchant.name),
    Column("status", lambda payment: payment.status),
    Column("failure_code", lambda payment: payment.failure_code),
    Column("failure_message", lambda payment: payment.failure_message),
    Column("type", lambda payment: payment.type),
    Column("chain_id", lambda payment: payment.chain_id),
    Column("chain", lambda payment: payment.chain.name),
    Column("transaction_hash", lambda payment: payment.transaction_hash),
    Column("from_address", lambda payment: payment.from_address),
    Column("recipient_address", lambda payment: payment.request.recipient_address),
    Column("token", lambda payment: payment.request.token.symbol),
    Column("amount_received", lambda payment: decimal(payment.amount_received, payment.request.token)),
    Column("value", lambda payment: _value(payment, "amount")),
    Column("value_currency", lambda payment: _value(payment, "currency")),
    Column("value_rate", lambda payment: _value(payment, "rate")),
    Column("value_observed_at", lambda payment: _value(payment, "observed_at")),
    Column("value_estimated", lambda payment: _value(payment, "estimated")),
    Column("paid_with", lambda payment: payment.token.symbol if payment.token else ""),
    Column("amount", lambda payment: decimal(payment.amount, payment.token)),
    Column("bound_by", lambda payment: payment.bound_by),
    Column("provider", lambda payment: swap_of(payment) and payment.swap.provider),
    Column("provider_status", lambda payment: swap_of(payment) and payment.swap.provider_status),
    Column("destination_chain_id", lambda payment: payment.request.chain_id),
    Column("destination_transaction_hash", lambda payment: payment.delivered_by or ""),
    Column("accepted_by", lambda payment: payment.accepted_by),
    Column("accepted_reason", lambda payment: payment.accepted_reason),
    Column("confirmations", lambda payment: payment.lookup.confirmations),
    Column("confirmations_required", lambda payment: payment.lookup.confirmations_required),
    Column("block_number", lambda payment: payment.lookup.block_number),
    Column("block_time", lambda payment: payment.lookup.block_time),
    Column("reorged", lambda payment: payment.reorged),
    Column("is_simulated", lambda payment: payment.is_simulated),
    Column("retries", lambda payment: payment.retries),
    Column("created_at", lambda payment: payment.created_at),
    Column("completed_at", lambda payment: payment.completed_at),
    Column("failed_at", lambda payment: payment.failed_at),
    Column("explorer_url", transaction_url),
)
_BOUND_BY = {
    "reference": "the reference that the transaction carries",
    "payer": "the payer's signature",
    "provider": "the routing provider's id",
    "address": "the request's deposit address",
    "authorization": "the transfer that the payer signed",
    "manual": "manual acceptance by staff",
}


@admin.register(Payment)
class PaymentAdmin(WithActions, CsvExport, Records):
    merchant_path = "request__merchant"
    change_form_template = "admin/payments/payment/change_form.html"
    confirmed_actions = (Retry(), CheckNow(), Accept())
    export_name = "payments"
    export_columns = COLUMNS
    export_related = (
        "request__merchant",
        "request__token",
        "request__chain",
        "chain",
        "token",
        "lookup",
        "swap__delivery",
    )

    list_display = ("code", "state", "received", "order", "transaction", "created")
    list_filter = (
        ("status", Choices),
        ("failure_code", Choices),
        PaymentAttention,
        ("request__merchant", Autocompleted),
        ("chain", Related),
        ("request__token", Autocompleted),
        ("created_at", Days),
    )
    list_select_related = (
        "request__token",
        "request__merchant",
        "request__chain",
        "chain",
        "token",
        "lookup",
        "swap__delivery",
    )
    ordering = ("-created_at", "-id")
    search_help_text = "Payment id, transaction hash, wallet, or the request's shortcode, order number or id"
    fieldsets: ClassVar[Any] = (
        (
            "Verification",
            {"fields": ("retries", "unanswered_since", "completed_at", "failed_at")},
        ),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Payment | None = None) -> Any:
        """Hide fields without a value and sections without fields."""
        sections: Any = super().get_fieldsets(request, obj)
        filled = [
            (title, {"fields": tuple(name for name in section["fields"] if getattr(obj, name, None))})
            for title, section in sections
        ]
        return [(title, section) for title, section in filled if section["fields"]]

    def listed(self, rows: QuerySet[Payment]) -> QuerySet[Payment]:
        """Hide refund transactions, since the refund's page lists them."""
        return rows.filter(request__is_refund=False)

    def found(self, rows: QuerySet[Payment], text: str) -> QuerySet[Payment]:
        return matching_payments(rows, text)

    def beside(self, request: HttpRequest, payment: Payment | None) -> dict[str, Any]:
        if payment is None:
            return super().beside(request, payment)
        with_webhooks = request.user.has_perm("webhooks.view_delivery")
        return {
            **super().beside(request, payment),
            "title": f"Payment {payment}",
            "amount": _arrived(payment),
            "badges": self.state(payment),
            "diagnosis": diagnosis.of_payment(payment, timezone.now()),
            "facts": present(self._facts(payment)),
            "story": timeline_of_payment(payment, with_webhooks=with_webhooks),
        }

    def _facts(self, payment: Payment) -> list[tuple[str, object]]:
        order, url = payment.request, transaction_url(payment)
        facts: list[tuple[str, object]] = [
            ("Payment ID", copyable(payment.pk)),
            (
                "Request",
                portal.link(portal.change_url(order), f"{order} for {in_token(order.amount, order.token)}"),
            ),
            ("Request ID", copyable(str(order.pk))),
            ("Order number", copyable(order.external_id or "")),
            ("Merchant", portal.link(portal.change_url(order.merchant), str(order.merchant))),
            (
                "Transaction",
                copyable(payment.own_hash, portal.link(url, payment.own_hash) if url else ""),
            ),
            ("Chain", str(payment.chain)),
            ("From", copyable(payment.from_address, address_link(payment.chain, payment.from_address))),
            (
                "To",
                copyable(order.recipient_address, address_link(order.chain, order.recipient_address)),
            ),
            *deposit_facts(order),
            ("Sent", in_token(payment.amount, payment.token)),
            ("Value", value_fact(payment)),
            ("Confirmations", self.depth(payment)),
            ("Block", _block(payment.lookup)),
            ("Attempts", payment.attempts or ""),
            ("Bound by", _BOUND_BY.get(payment.bound_by, NOTHING)),
            *self._swap_facts(payment),
            ("Submitted", exact_and_ago(payment.created_at)),
        ]
        if payment.is_open and payment.due_at:
            due = payment.due_at
            facts.append(("Next check", exact_and_ago(due) if due > timezone.now() else "due now"))
        if payment.sender_signed_at:
            facts.append(("Signed", f"The sender signed for this request, {exact(payment.sender_signed_at)}"))
        if payment.accepted_by:
            facts.append(("Accepted", f"by {named(payment.accepted_by)}: {payment.accepted_reason}"))
        return facts

    def _swap_facts(self, payment: Payment) -> list[tuple[str, object]]:
        swap = swap_of(payment)
        if swap is None:
            return []
        status = swap.provider_status or "not checked yet"
        at_provider = portal.link(swap.provider_url, status) if swap.provider_url else status
        facts: list[tuple[str, object]] = [
            ("Swapped by", provider_name(swap.provider)),
            ("Provider status", at_provider),
        ]
        delivery = delivery_of(payment)
        if delivery is not None:
            url = delivery_url(payment)
            verified = payment.status == Payment.Status.COMPLETED
            where = f"{payment.request.chain}, {self.delivery_depth(payment, delivery)}"
            facts += [
                (
                    "Delivered by" if verified else "Reported delivery",
                    copyable(
                        delivery.transaction_hash,
                        portal.link(url, delivery.transaction_hash) if url else "",
                    ),
                ),
                ("Delivered on", where),
                ("Reported amount", in_token(swap.reported_amount, payment.request.token)),
                ("Delivery block", _block(delivery)),
            ]
        return facts

    def delivery_depth(self, payment: Payment, delivery: Lookup) -> str:
        rule = payment.request.chain.confirmations
        if not delivery.is_seen:
            return "not seen yet"
        if not rule.isdigit():
            return rule if payment.status == Payment.Status.COMPLETED else f"waits until {rule}"
        return f"{min(delivery.confirmations, int(rule))} of {rule} confirmations"

    @admin.display(description="Payment")
    def code(self, payment: Payment) -> str:
        return clipped(payment.pk, first=9, last=4)

    @admin.display(description="Status", ordering="status")
    def state(self, payment: Payment) -> str:
        return two_lines(payment_badges(payment), payment.failure_code.replace("_", " "))

    @admin.display(description="Received")
    def received(self, payment: Payment) -> str:
        """Return the credited amount in the requested token. For a failed payment, return the amount that arrived
        without being credited.
        """
        if payment.amount_received is None and payment.amount is not None:
            return amount_cell(payment.amount, payment.token or payment.request.token, " seen")
        return amount_cell(payment.amount_received, payment.request.token)

    @admin.display(description="Request")
    def order(self, payment: Payment) -> str:
        order = payment.request
        merchant = order.merchant if names_merchant(payment) else ""
        return two_lines(portal.link(portal.change_url(order), order.shortcode), merchant)

    @admin.display(description="Transaction")
    def transaction(self, payment: Payment) -> str:
        depth = self.depth(payment)
        where = (
            f"{payment.chain} → {payment.request.chain}"
            if payment.chain_id != payment.request.chain_id
            else str(payment.chain)
        )
        return two_lines(transaction_cell(payment), f"{where} · {depth}" if depth != NOTHING else where)

    @admin.display(description="Confirmations")
    def depth(self, payment: Payment) -> str:
        lookup = payment.lookup
        if lookup.block_number is None or payment.status == Payment.Status.FAILED:
            return NOTHING
        if lookup.confirmations_required is None:
            return (
                f"waits until {payment.chain.confirmations}"
                if payment.is_open
                else payment.chain.confirmations
            )
        # The worker stops counting confirmations once there are enough.
        needed = lookup.confirmations_required
        return f"{min(lookup.confirmations, needed)} of {needed}"

    @admin.display(description=in_zone("Submitted"), ordering="created_at")
    def created(self, payment: Payment) -> str:
        return when(payment.created_at)
