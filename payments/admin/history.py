from django.contrib import admin
from django.db.models import QuerySet

from config.admin import portal
from config.admin.cells import NOTHING, clipped, ends, in_zone, outside, two_lines, when
from merchants.staff.records import Records
from payments.admin.records import in_token
from payments.admin.search import matching_transfers, matching_transitions
from payments.admin.timeline import named
from payments.models import ConsumedTransfer, Transition


@admin.register(ConsumedTransfer)
class ConsumedTransferAdmin(Records):
    """A transfer is credited to one payment at most."""

    merchant_path = "payment__request__merchant"
    list_display = ("transaction", "place", "credited", "paid", "created")
    list_select_related = ("chain", "payment__request__token")
    ordering = ("-id",)
    search_help_text = "Transaction hash or payment id"
    fields = readonly_fields = ("transaction_hash", "place", "network", "credited", "paid", "created")

    def found(self, rows: QuerySet[ConsumedTransfer], text: str) -> QuerySet[ConsumedTransfer]:
        return matching_transfers(rows, text)

    @admin.display(description="Transaction")
    def transaction(self, transfer: ConsumedTransfer) -> str:
        kind = "tx" if transfer.payment.deposit_sequence is None else "address"
        url = outside(transfer.chain.explorer_url, f"{kind}/{transfer.transaction_hash}")
        return two_lines(clipped(transfer.transaction_hash, url), transfer.chain)

    @admin.display(description="Part of the transaction")
    def place(self, transfer: ConsumedTransfer) -> str:
        return clipped(transfer.slot, first=16, last=6)

    @admin.display(description="Chain")
    def network(self, transfer: ConsumedTransfer) -> str:
        """Show the chain without a link, since a merchant's users can't open the chain's page."""
        return str(transfer.chain)

    @admin.display(description="Credited")
    def credited(self, transfer: ConsumedTransfer) -> str:
        return in_token(transfer.amount, transfer.payment.request.token)

    @admin.display(description="To the payment")
    def paid(self, transfer: ConsumedTransfer) -> str:
        return portal.link(portal.change_url(transfer.payment), ends(transfer.payment_id, 9, 4))

    @admin.display(description=in_zone("When"), ordering="id")
    def created(self, transfer: ConsumedTransfer) -> str:
        return when(transfer.created_at)


@admin.register(Transition)
class TransitionAdmin(Records):
    merchant_path = "request__merchant"
    list_display = ("created", "change", "order", "paid", "who", "reason")
    list_select_related = ("request", "payment")
    ordering = ("-id",)
    search_help_text = "Request ID, shortcode, order number, payment ID or transaction hash"
    fields = readonly_fields = ("created", "order", "paid", "change", "actor", "reason")

    def found(self, rows: QuerySet[Transition], text: str) -> QuerySet[Transition]:
        return matching_transitions(rows, text)

    @admin.display(description=in_zone("When"), ordering="id")
    def created(self, transition: Transition) -> str:
        return when(transition.created_at)

    @admin.display(description="Change")
    def change(self, transition: Transition) -> str:
        return str(transition)

    @admin.display(description="Request")
    def order(self, transition: Transition) -> str:
        return portal.link(portal.change_url(transition.request), transition.request.shortcode)

    @admin.display(description="Payment")
    def paid(self, transition: Transition) -> str:
        if transition.payment is None:
            return NOTHING
        return portal.link(portal.change_url(transition.payment), ends(transition.payment.pk, 9, 4))

    @admin.display(description="By")
    def who(self, transition: Transition) -> str:
        return named(transition.actor)
