"""The receipt of a completed request: a printable page with everything needed to verify the payment on the
chain.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page

from chains.amounts import price_text
from checkout.lookup import find_request
from checkout.pages.context import missing, page_context, shown, wording_of
from checkout.pages.forms import lead_to
from checkout.pages.qr import qr_code
from checkout.pages.refund_lines import refund_lines
from config.api.methods import only_read
from payments.api.objects import delivery_explorer_url
from payments.models import Payment, PaymentRequest, delivery_of


@only_read
@gzip_page
def receipt_page(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Return the receipt; redirect to the checkout if the request isn't completed."""
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    if payment_request.status != PaymentRequest.Status.COMPLETED:
        return lead_to(request, "pay", payment_request.shortcode)
    # Before refunds, which the receipt lists separately.
    context = {
        **page_context(payment_request),
        "paid_beyond": payment_request.paid_beyond,
        "paid_beyond_display": price_text(payment_request.paid_beyond, payment_request.token.decimals),
        "lines": _lines(_counted(payment_request)),
        "refund_lines": refund_lines(payment_request),
    }
    return shown(request, payment_request, "checkout/receipt.html", context)


def _counted(payment_request: PaymentRequest) -> list[Payment]:
    """Return the payments that add up to the paid amount, oldest first."""
    payments = payment_request.payments.filter(status=Payment.Status.COMPLETED)
    return list(
        payments.select_related(
            "chain", "token", "request__token", "request__chain", "route", "lookup", "swap__delivery"
        ).order_by("id")
    )


def _lines(payments: list[Payment]) -> list[dict[str, Any]]:
    """Return the receipt's payments. The payer is shown only if all payments have the same one."""
    payers = {payment.from_address for payment in payments}
    return [
        {**_line(payment), "payer": payment.from_address if len(payers) == 1 else ""} for payment in payments
    ]


def _line(payment: Payment) -> dict[str, Any]:
    """Return one payment for the receipt; `proof` is the transaction that paid the merchant."""
    request = payment.request
    sent = payment.token or request.token
    explorer = _explorer(payment)
    return {
        "payment": payment,
        "received": price_text(payment.amount_received or 0, request.token.decimals),
        "received_raw": payment.amount_received or 0,
        "sent": None if payment.amount is None else price_text(payment.amount, sent.decimals),
        "sent_symbol": sent.symbol,
        **_fees(payment),
        "proof": payment.delivered_by or payment.transaction_hash,
        "explorer": explorer,
        "explorer_qr": explorer and qr_code(explorer),
        "reference": _reference(request) if payment.bound_by == Payment.BoundBy.REFERENCE else "",
        "check": _check(request),
    }


def _fees(payment: Payment) -> dict[str, Any]:
    """Return a swap's quoted fees, and the network fee from its block, else as quoted."""
    paid = _network_fee(payment)
    if payment.type != Payment.Type.SWAP or payment.route is None or not payment.route.details:
        return {"fees": [], "network_fee": paid, "network_fee_quoted": ""}
    quoted = payment.route.details
    network = quoted["gas"] if len(quoted["gas"]) == 1 and not paid else []
    return {
        "fees": [{"name": fee["name"], "amount": _fee_text(fee)} for fee in quoted["fees"]],
        "network_fee": paid,
        "network_fee_quoted": next((_fee_text(fee) for fee in network), ""),
    }


def _network_fee(payment: Payment) -> str:
    if payment.network_fee is None or payment.is_simulated or not payment.chain.is_installed:
        return ""  # Only the chain's family knows the decimals of its coin.
    decimals = payment.chain.family.native_decimals
    return f"{price_text(payment.network_fee, decimals)} {payment.chain.native_symbol}"


def _fee_text(fee: dict[str, Any]) -> str:
    return f"{price_text(int(fee['amount']), fee['decimals'])} {fee['symbol']}"


def _explorer(payment: Payment) -> str | None:
    return delivery_explorer_url(payment) or (None if delivery_of(payment) else payment.explorer_url)


def _reference(request: PaymentRequest) -> str:
    """Return the reference as explorers show it; in hex if the chain's family is no longer installed."""
    reference = bytes(request.reference)
    return request.chain.family.reference_text(reference) if request.chain.is_installed else reference.hex()


def _check(request: PaymentRequest) -> str:
    """Return the key of the message that explains how to verify the payment on the chain."""
    wording = wording_of(request.chain)
    return wording.check_contract if request.token.contract_address else wording.check_coin
