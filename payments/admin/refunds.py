from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join

from chains.families import AddressError
from config.admin import portal
from config.admin.actions import ConfirmForm, WithActions
from config.admin.cells import (
    NOTHING,
    clipped,
    copyable,
    exact_and_ago,
    in_zone,
    outside,
    present,
    two_lines,
    when,
)
from config.admin.filters import Autocompleted, Choices, Days
from config.api.errors import ApiError, ErrorCode
from merchants.staff.records import Records, names_merchant
from payments.admin import diagnosis
from payments.admin.actions import CancelRefund, RefundAction
from payments.admin.export import Column, CsvExport, decimal
from payments.admin.filters import REFUND_LABELS, RefundStatus
from payments.admin.records import (
    address_link,
    amount_cell,
    in_token,
    payment_badges,
    together,
    transaction_cell,
)
from payments.admin.search import matching_refunds
from payments.admin.timeline import named, timeline_of_refund
from payments.api.refund_serializers import refund_recipient
from payments.models import Payment, Refund
from payments.models.refund import Standing, standing_of
from payments.refunds.reading import now, with_request
from payments.refunds.services import change_address, is_address_changeable


def _decided_by(refund: Refund, name: str) -> object:
    """Return a field of the payment that decides the refund's status, or "" if there is no such payment."""
    payment = _standing(refund).payment
    return getattr(payment, name) if payment is not None else ""


COLUMNS = (
    Column("id", lambda refund: refund.pk),
    Column("payment_request", lambda refund: refund.request_id),
    Column("shortcode", lambda refund: refund.request.shortcode),
    Column("external_id", lambda refund: refund.request.external_id),
    Column("payment_id", lambda refund: refund.payment_id),
    Column("merchant_id", lambda refund: refund.merchant_id),
    Column("merchant", lambda refund: refund.request.merchant.name),
    Column("status", lambda refund: _standing(refund).status.value),
    Column("amount", lambda refund: decimal(refund.amount, refund.request.token)),
    Column("token", lambda refund: refund.request.token.symbol),
    Column("chain_id", lambda refund: refund.request.chain_id),
    Column("chain", lambda refund: refund.request.chain.name),
    Column("recipient_address", lambda refund: refund.recipient_address),
    Column("address_source", lambda refund: refund.address_source),
    Column("reason", lambda refund: refund.reason),
    Column("transaction_hash", lambda refund: _decided_by(refund, "transaction_hash")),
    Column("failure_code", lambda refund: _decided_by(refund, "failure_code")),
    Column("is_simulated", lambda refund: refund.is_simulated),
    Column("created_by", lambda refund: refund.created_by),
    Column("created_at", lambda refund: refund.created_at),
    Column("completed_at", lambda refund: _decided_by(refund, "completed_at")),
    Column("cancelled_at", lambda refund: refund.cancelled_at),
)
_COLOURS = {
    "requires_address": "warning",
    "ready": "warning",
    "processing": "info",
    "completed": "success",
    "failed": "danger",
}


class _AddressForm(ConfirmForm):
    recipient_address = forms.CharField(
        max_length=200,
        label="Customer's wallet",
        widget=portal.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=(
            "The address on the refund's chain that the customer gave you. Don't use the payment's "
            "sender, which may be an exchange."
        ),
    )


class ChangeAddress(RefundAction):
    """Set or change a refund's address. Not possible after its transaction was built."""

    name, icon, permission = "address", "edit", "payments.refund_paymentrequest"
    form = _AddressForm

    def label(self, row: Refund) -> str:
        return "Change the address" if row.recipient_address else "Enter the address"

    def is_offered(self, row: Refund) -> bool:
        (current,) = now([row])
        return is_address_changeable(current)

    def explanation(self, row: Refund) -> str:
        amount = in_token(row.amount, row.request.token)
        if not row.recipient_address:
            return (
                f"{amount} on {row.request.chain} goes to this address. The customer can then no longer "
                "enter another one."
            )
        return (
            f"{amount} on {row.request.chain} goes to this address instead of {row.recipient_address}, which stays "
            "listed as a cancelled refund. Don't use a page or code of this refund that you opened before: a transfer "
            "to the old address counts."
        )

    def seen(self, row: Refund) -> str:
        return row.recipient_address

    def perform(self, row: Refund, actor: str, answer: dict[str, Any]) -> tuple[str, str]:
        try:
            # The row is locked, so don't query the chain here. The address is checked when the transaction is built.
            address = refund_recipient(row.request, answer["recipient_address"])
        except AddressError as error:
            raise ApiError(ErrorCode.ADDRESS_INVALID, str(error), "recipient_address") from error
        change_address(row, address, actor=actor)
        return f"Address set to {address}.", f"{row} goes to {address}."


@admin.register(Refund)
class RefundAdmin(WithActions, CsvExport, Records):
    """A refund's status is computed from its payments."""

    change_form_template = "admin/payments/refund/change_form.html"
    confirmed_actions = (ChangeAddress(), CancelRefund())
    export_name = "refunds"
    export_columns = COLUMNS
    export_related = ("carrier", "request__token__chain", "request__chain", "request__merchant")
    list_display = ("short_id", "state", "goes_back", "wallet", "order", "transaction", "created")
    list_filter = (
        RefundStatus,
        ("address_source", Choices),
        ("merchant", Autocompleted),
        ("created_at", Days),
    )
    ordering = ("-created_at", "-id")
    search_help_text = "Refund id, wallet, transaction hash, or the request's shortcode, order number or id"
    fields = readonly_fields = ("transactions",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Refund]:
        """Load the relations that the columns show, in a constant number of queries."""
        payments = Payment.objects.select_related("chain", "request", "lookup").order_by("created_at", "id")
        refunds = with_request(super().get_queryset(request))
        return refunds.prefetch_related(Prefetch("carrier__payments", queryset=payments))

    def beside(self, request: HttpRequest, refund: Refund | None) -> dict[str, Any]:
        if refund is None:
            return super().beside(request, refund)
        with_webhooks = request.user.has_perm("webhooks.view_delivery")
        return {
            **super().beside(request, refund),
            "title": f"Refund {refund}",
            "amount": in_token(refund.amount, refund.request.token),
            "badges": _badges(refund),
            "diagnosis": diagnosis.of_refund(_standing(refund).status),
            "facts": present(self._facts(refund)),
            "story": timeline_of_refund(refund, with_webhooks=with_webhooks),
        }

    def _facts(self, refund: Refund) -> list[tuple[str, object]]:
        order, address = refund.request, refund.recipient_address
        status = _standing(refund).status
        sign, claim = refund.refund_url or "", refund.claim_url
        can_sign = status in (Refund.Status.READY, Refund.Status.FAILED) and sign
        awaits_address = status == Refund.Status.REQUIRES_ADDRESS
        return [
            ("Sign it", copyable(sign, portal.link(sign, sign)) if can_sign else ""),
            ("Link for the customer", copyable(claim, portal.link(claim, claim)) if awaits_address else ""),
            ("Refund ID", copyable(refund.pk)),
            ("To", copyable(address, address_link(order.chain, address)) if address else ""),
            ("Address set by", refund.get_address_source_display()),
            ("Chain", str(order.chain)),
            ("Of the request", portal.link(portal.change_url(order), str(order))),
            ("Order number", copyable(order.external_id) if order.external_id else ""),
            ("Merchant", portal.link(portal.change_url(order.merchant), str(order.merchant))),
            ("Reason", refund.reason or ""),
            ("Created", exact_and_ago(refund.created_at)),
            ("Created by", named(refund.created_by) if refund.created_by else ""),
        ]

    def found(self, rows: QuerySet[Refund], text: str) -> QuerySet[Refund]:
        return matching_refunds(rows, text)

    @admin.display(description="Refund")
    def short_id(self, refund: Refund) -> str:
        return clipped(refund.pk, first=7, last=4)

    @admin.display(description="Status")
    def state(self, refund: Refund) -> str:
        return _badges(refund)

    @admin.display(description="Amount")
    def goes_back(self, refund: Refund) -> str:
        return two_lines(amount_cell(refund.amount, refund.request.token), refund.request.chain)

    @admin.display(description="To")
    def wallet(self, refund: Refund) -> str:
        address = refund.recipient_address
        url = outside(refund.request.chain.explorer_url, f"address/{address}")
        return clipped(address, url) if address else NOTHING

    @admin.display(description="Of the request")
    def order(self, refund: Refund) -> str:
        request = refund.request
        merchant = request.merchant if names_merchant(refund) else ""
        return two_lines(portal.link(portal.change_url(request), str(request)), merchant)

    @admin.display(description="Transaction")
    def transaction(self, refund: Refund) -> str:
        payment = _standing(refund).payment
        return transaction_cell(payment) if payment else NOTHING

    @admin.display(description="Transactions")
    def transactions(self, refund: Refund) -> str:
        """Return each transaction that was found or submitted, with its result and a link."""
        payments = refund.carrier.payments.all() if refund.carrier else []
        lines = [(clipped(each.own_hash, portal.change_url(each)), payment_badges(each)) for each in payments]
        return format_html_join("", "<div>{} {}</div>", lines) or NOTHING

    @admin.display(description=in_zone("Created"), ordering="created_at")
    def created(self, refund: Refund) -> str:
        return when(refund.created_at)


def _badges(refund: Refund) -> str:
    words = REFUND_LABELS[_standing(refund).status.value]
    labels = [portal.badge(words, {words: _COLOURS.get(_standing(refund).status.value, "")})]
    if refund.is_simulated:
        labels.append(portal.badge("test", {"test": "warning"}))
    return together(labels)


def _standing(refund: Refund) -> Standing:
    return standing_of(refund, list(refund.carrier.payments.all()) if refund.carrier else [])
