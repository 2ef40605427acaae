"""Payments, the transfers that they were credited with, and the history of every status."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path

from config import portal
from config.api.errors import ApiError
from payments.acceptance import accept_payment, is_acceptable
from payments.admin.records import (
    PAYMENT_COLOURS,
    Records,
    TransitionInline,
    actor_of,
    ends,
    in_token,
    may,
    not_there,
)
from payments.models import ConsumedTransfer, Payment, Transition
from payments.models.payment import MAX_RETRIES, RETRYABLE_FAILURES
from payments.submission import retry_payment


class AcceptForm(forms.Form):
    """Why an unbound transaction is taken as payment."""

    reason = forms.CharField(
        max_length=400, widget=portal.Textarea, help_text="Stays in the history, for merchant and auditor."
    )


@admin.register(Payment)
class PaymentAdmin(Records):
    """Transactions that were said to pay a request, and what the chain says of them."""

    merchant_path = "request__merchant"
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
                    "accepted_by",
                    "accepted_reason",
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
        """Add the pages that retry and accept."""
        own = [
            path(
                f"<str:payment_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"payments_payment_{name}",
            )
            for name, view in (("retry", self.retry_view), ("accept", self.accept_view))
        ]
        return [*own, *super().get_urls()]

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], **options: Any) -> Any:  # type: ignore[override]
        """Offer what can be done."""
        payment: Payment | None = options.get("obj")
        retryable = (
            payment is not None
            and payment.failure_code in RETRYABLE_FAILURES
            and not payment.is_open
            and payment.retries_left > 0
        )
        context["may_retry"] = retryable and may(request, "retry_payment")
        context["may_accept"] = (
            payment is not None and is_acceptable(payment) and may(request, "accept_payment")
        )
        return super().render_change_form(request, context, **options)

    def retry_view(self, request: HttpRequest, payment_id: str) -> HttpResponse:
        """Ask, then have the chain asked anew."""
        portal.demand(may(request, "retry_payment"))
        payment = self.get_object(request, payment_id)
        if payment is None:
            return not_there(request, "payments_payment", payment_id)
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
            retry_payment(payment, actor=actor_of(request))
        except ApiError as error:
            messages.error(request, str(error.detail))
        else:
            self.log_change(request, payment, "Retried.")
            messages.success(request, f"{payment} is being looked at again.")
        return HttpResponseRedirect(portal.change_url(payment))

    def accept_view(self, request: HttpRequest, payment_id: str) -> HttpResponse:
        """Ask why, then take a transaction that nothing binds to the request as its payment."""
        portal.demand(may(request, "accept_payment"))
        payment = self.get_object(request, payment_id)
        if payment is None:
            return not_there(request, "payments_payment", payment_id)
        form = AcceptForm(request.POST or None)
        if request.method != "POST" or not form.is_valid():
            return portal.confirmation(
                request,
                payment,
                self,
                title=f"Accept {payment}",
                explanation="Nothing ties this transaction to the request. Accept it only if you know that this "
                "customer sent it. Everything else is still asked of the chain, and the money counts once.",
                button="Accept as payment",
                form=form,
            )
        reason = form.cleaned_data["reason"]
        try:
            accept_payment(payment, reason=reason, actor=actor_of(request))
        except ApiError as error:
            messages.error(request, str(error.detail))
        else:
            self.log_change(request, payment, f"Accepted: {reason}")
            messages.success(request, f"{payment} is accepted, and is being verified.")
        return HttpResponseRedirect(portal.change_url(payment))

    @admin.display(description="Status", ordering="status")
    def state(self, payment: Payment) -> str:
        """Return its status."""
        return portal.badge(payment.status, PAYMENT_COLOURS)

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
class ConsumedTransferAdmin(Records):
    """Transfers that were credited: each counts once in the whole system."""

    merchant_path = "payment__request__merchant"
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
class TransitionAdmin(Records):
    """Every change of every status."""

    merchant_path = "request__merchant"
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
