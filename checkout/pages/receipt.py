"""The receipt of a completed request.

The page can be printed. It contains the data with which anyone can verify the payment on the chain.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page

from chains.amounts import price_text, short_text
from checkout.api.progress import is_extra_from_conversion
from checkout.languages import Language
from checkout.lookup import find_request
from checkout.pages.context import missing, page_context, page_language, shown, wording_of
from checkout.pages.forms import lead_to
from checkout.pages.qr import qr_code
from checkout.pages.refund_lines import refund_lines
from config import mail
from config.api.errors import ApiError
from config.api.methods import only_read
from payments.models import Payment, PaymentRequest, delivery_of


@only_read
@gzip_page
def receipt_page(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Return the receipt. If the request isn't completed, redirect to the checkout."""
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    if payment_request.status != PaymentRequest.Status.COMPLETED:
        return lead_to(request, "pay", payment_request.shortcode)
    return show_receipt(request, payment_request)


def mails_receipts(payment_request: PaymentRequest) -> bool:
    """Whether the service can send this receipt by e-mail."""
    is_completed = payment_request.status == PaymentRequest.Status.COMPLETED
    return is_completed and not payment_request.is_refund and not mail.is_off()


def show_receipt(
    request: HttpRequest,
    payment_request: PaymentRequest,
    more: dict[str, Any] | None = None,
    error: ApiError | None = None,
) -> HttpResponse:
    """Return the receipt. `more` is additional context. After an `error`, the response has its HTTP status."""
    context = page_context(request, payment_request)
    language = page_language(request, payment_request)
    is_extra = is_extra_from_conversion(context["checkout"])
    # Refunds are not deducted here, because the receipt lists them separately.
    paid = payment_request.amount if is_extra else payment_request.amount_paid
    context |= {
        "total_display": language.number(short_text(paid, payment_request.token.decimals)),
        "paid_beyond": payment_request.paid_beyond,
        "is_extra": is_extra,
        "lines": _lines(_counted(payment_request), language),
        "refund_lines": refund_lines(payment_request, language),
        "mails_receipts": mails_receipts(payment_request),
        "is_mailed": "mailed" in request.GET and error is None,
        **(more or {}),
    }
    return shown(request, payment_request, "checkout/receipt.html", context, error=error)


def _counted(payment_request: PaymentRequest) -> list[Payment]:
    """Return the payments that together are the paid amount, oldest first."""
    payments = payment_request.payments.filter(status=Payment.Status.COMPLETED)
    return list(
        payments.select_related(
            "chain", "token", "request__token", "request__chain", "route", "lookup", "swap__delivery"
        ).order_by("id")
    )


def _lines(payments: list[Payment], language: Language) -> list[dict[str, Any]]:
    """Return the payments for the receipt. The payer is shown only if all payments have the same payer."""
    payers = {payment.from_address for payment in payments}
    return [
        {**_line(payment, language), "payer": payment.from_address if len(payers) == 1 else ""}
        for payment in payments
    ]


def _line(payment: Payment, language: Language) -> dict[str, Any]:
    """Return one payment for the receipt. `proof` is the transaction that paid the merchant, if its hash is known.

    If amounts are shown with fewer digits, `exact` has their exact values.
    """
    request = payment.request
    sent = payment.token or request.token
    amounts = _Amounts(language)
    explorer = _explorer(payment)
    return {
        "payment": payment,
        "received": amounts.exact_text(
            payment.amount_received or 0, request.token.decimals, request.token.symbol
        ),
        "received_raw": payment.amount_received or 0,
        "sent": payment.amount and amounts.text(payment.amount, sent.decimals, sent.symbol),
        **_fees(payment, amounts),
        "exact": amounts.shortened,
        "proof": payment.delivered_by or payment.transaction_hash,
        "explorer": explorer,
        "explorer_qr": explorer and qr_code(explorer),
        "reference": _reference(request) if payment.bound_by == Payment.BoundBy.REFERENCE else "",
        "deposit_address": _deposit_address(payment),
        "check": _check(request),
    }


class _Amounts:
    """Formats amounts in a language. If an amount is shortened, its exact value is added to `shortened`."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self.shortened: list[str] = []

    def text(self, raw: int, decimals: int, symbol: str) -> str:
        exact = self.exact_text(raw, decimals, symbol)
        short = f"{self._language.number(short_text(raw, decimals))} {symbol}"
        if short != exact and exact not in self.shortened:
            self.shortened.append(exact)
        return short

    def exact_text(self, raw: int, decimals: int, symbol: str) -> str:
        return f"{self._language.number(price_text(raw, decimals))} {symbol}"

    def of_fee(self, fee: dict[str, Any]) -> str:
        return self.text(int(fee["amount"]), fee["decimals"], fee["symbol"])


def _fees(payment: Payment, amounts: _Amounts) -> dict[str, Any]:
    """Return the fees.

    For a swap, these are the quoted fees. Return the actual network fee if it is known, or else the quoted network fee.
    If another account sent the payer's signed transfer and paid the network fee, `is_fee_paid` is true.
    """
    if payment.is_sponsored or payment.bound_by == Payment.BoundBy.AUTHORIZATION:
        return {"fees": [], "network_fee": "", "network_fee_quoted": "", "is_fee_paid": True}
    paid = _network_fee(payment, amounts)
    if payment.type != Payment.Type.SWAP or payment.route is None or not payment.route.details:
        return {"fees": [], "network_fee": paid, "network_fee_quoted": ""}
    quoted = payment.route.details
    network = quoted["gas"] if len(quoted["gas"]) == 1 and not paid else []
    return {
        "fees": [{"name": fee["name"], "amount": amounts.of_fee(fee)} for fee in quoted["fees"]],
        "network_fee": paid,
        "network_fee_quoted": next((amounts.of_fee(fee) for fee in network), ""),
    }


def _network_fee(payment: Payment, amounts: _Amounts) -> str:
    if payment.network_fee is None or payment.is_simulated or not payment.chain.is_installed:
        return ""  # Only the chain's family knows the decimals of its coin.
    decimals = payment.chain.family.native_decimals
    return amounts.text(payment.network_fee, decimals, payment.chain.native_symbol)


def _explorer(payment: Payment) -> str | None:
    return payment.delivery_explorer_url or (None if delivery_of(payment) else payment.explorer_url)


def _deposit_address(payment: Payment) -> str:
    is_there = payment.bound_by == Payment.BoundBy.ADDRESS
    return (payment.request.deposit_address or "") if is_there else ""


def _reference(request: PaymentRequest) -> str:
    """Return the reference as explorers show it. If the chain's family is no longer installed, return it in hex."""
    reference = bytes(request.reference)
    return request.chain.family.reference_text(reference) if request.chain.is_installed else reference.hex()


def _check(request: PaymentRequest) -> str:
    """Return the key of the message that explains how to verify the payment on the chain."""
    wording = wording_of(request.chain)
    return wording.check_contract if request.token.contract_address else wording.check_coin
