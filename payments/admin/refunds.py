from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join

from chains.families import AddressError
from config.admin import portal
from config.admin.actions import ConfirmForm, WithActions
from config.admin.cells import NOTHING, clipped, in_zone, outside, two_lines, when
from config.admin.filters import Autocompleted, Choices, Days
from config.api.errors import ApiError, ErrorCode
from merchants.staff.records import Records
from payments.admin.actions import CancelRefund, RefundAction
from payments.admin.filters import REFUND_LABELS, RefundStatus
from payments.admin.records import address_link, in_token, payment_badges, transaction_cell
from payments.admin.search import matching_refunds
from payments.api.refund_serializers import refund_recipient
from payments.models import Payment, Refund
from payments.models.refund import Standing, standing_of
from payments.refunds.reading import now, with_request
from payments.refunds.services import change_address, is_address_changeable

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
    """Set or change a refund's address until its transaction is built."""

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
            # Building the transaction queries the chain; here the row is locked.
            address = refund_recipient(row.request, answer["recipient_address"])
        except AddressError as error:
            raise ApiError(ErrorCode.ADDRESS_INVALID, str(error), "recipient_address") from error
        change_address(row, address, actor=actor)
        return f"Address set to {address}.", f"{row} goes to {address}."


@admin.register(Refund)
class RefundAdmin(WithActions, Records):
    """Refunds with their status, which follows from their payments."""

    confirmed_actions = (ChangeAddress(), CancelRefund())
    list_display = ("code_and_state", "goes_back", "wallet", "order", "transaction", "created")
    list_filter = (
        RefundStatus,
        ("address_source", Choices),
        ("merchant", Autocompleted),
        ("created_at", Days),
    )
    ordering = ("-created_at", "-id")
    search_help_text = "Refund id, wallet, transaction hash, or the request's shortcode, order number or id"
    fields = readonly_fields = (
        "code_and_state", "goes_back", "to", "named_by", "reason", "order", "sign", "claim", "transactions", "created",
        "made_by",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Refund]:
        """Load the relations of the columns with a constant number of queries."""
        payments = Payment.objects.select_related("chain", "request", "lookup").order_by("created_at", "id")
        refunds = with_request(super().get_queryset(request))
        return refunds.prefetch_related(Prefetch("carrier__payments", queryset=payments))

    def found(self, rows: QuerySet[Refund], text: str) -> QuerySet[Refund]:
        return matching_refunds(rows, text)

    @admin.display(description="Refund")
    def code_and_state(self, refund: Refund) -> str:
        status = _standing(refund).status.value
        words = REFUND_LABELS[status]
        label = portal.badge(words, {words: _COLOURS.get(status, "")})
        return two_lines(clipped(refund.pk, first=9, last=4), label)

    @admin.display(description="Amount")
    def goes_back(self, refund: Refund) -> str:
        return two_lines(in_token(refund.amount, refund.request.token), refund.request.chain)

    @admin.display(description="To")
    def to(self, refund: Refund) -> str:
        return address_link(refund.request.chain, refund.recipient_address)

    @admin.display(description="To")
    def wallet(self, refund: Refund) -> str:
        address = refund.recipient_address
        url = outside(refund.request.chain.explorer_url, f"address/{address}")
        return clipped(address, url) if address else NOTHING

    @admin.display(description="Address set by")
    def named_by(self, refund: Refund) -> str:
        return refund.get_address_source_display() or NOTHING

    @admin.display(description="Of the request")
    def order(self, refund: Refund) -> str:
        request = refund.request
        return two_lines(portal.link(portal.change_url(request), str(request)), request.merchant)

    @admin.display(description="Next step")
    def sign(self, refund: Refund) -> str:
        """Return the link to the signing page, or the reason to wait."""
        match _standing(refund).status:
            case Refund.Status.REQUIRES_ADDRESS:
                return "The customer enters a wallet on the page below."
            case Refund.Status.READY | Refund.Status.FAILED:
                return portal.link(refund.refund_url or "", "Sign it with your wallet")
            case Refund.Status.PROCESSING:
                return "Its transaction is being verified."
        return NOTHING

    @admin.display(description="For the customer")
    def claim(self, refund: Refund) -> str:
        return _page(refund.claim_url)

    @admin.display(description="Transaction")
    def transaction(self, refund: Refund) -> str:
        payment = _standing(refund).payment
        return transaction_cell(payment) if payment else NOTHING

    @admin.display(description="Transactions")
    def transactions(self, refund: Refund) -> str:
        """Return each transaction that was found or submitted, with its result and a link."""
        payments = refund.carrier.payments.all() if refund.carrier else []
        lines = [
            (clipped(each.transaction_hash, portal.change_url(each)), payment_badges(each))
            for each in payments
        ]
        return format_html_join("", "<div>{} {}</div>", lines) or NOTHING

    @admin.display(description="Created by")
    def made_by(self, refund: Refund) -> str:
        """Return the creator: the prefix of the API key, or the user."""
        return refund.created_by or NOTHING

    @admin.display(description=in_zone("Created"), ordering="created_at")
    def created(self, refund: Refund) -> str:
        return when(refund.created_at)


def _standing(refund: Refund) -> Standing:
    return standing_of(refund, list(refund.carrier.payments.all()) if refund.carrier else [])


def _page(url: str | None) -> str:
    return format_html('<a href="{0}" target="_blank" rel="noopener">{0}</a>', url) if url else NOTHING
