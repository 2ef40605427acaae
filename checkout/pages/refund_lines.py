"""The refunds on customers' pages."""

from dataclasses import dataclass
from datetime import datetime

from django.http import Http404, HttpRequest, HttpResponse

from chains.amounts import price_text
from checkout.languages import Language
from checkout.lookup import find_request
from checkout.pages.context import missing, page_context, page_language, shown
from config.api.methods import only_read
from payments.models import PaymentRequest, Refund
from payments.refunds.reading import refunds_of


@only_read
def refund_list(request: HttpRequest, shortcode: str) -> HttpResponse:
    """Return only the list of refunds of the payment page. The script of an open page replaces its list by this one."""
    try:
        payment_request = find_request(shortcode)
    except Http404:
        return missing(request)
    context = page_context(request, payment_request)
    context["refund_lines"] = refund_lines(payment_request, page_language(request, payment_request))
    return shown(request, payment_request, "checkout/status/refunds.html", context)


@dataclass(frozen=True)
class RefundLine:
    """A completed or open refund. Only a completed refund has an address, a time and a transaction.

    `claim_code` is the code of the page where the customer sets the address. If the refund has an address already, the
    code is empty.
    """

    amount: str
    claim_code: str = ""
    address: str = ""
    completed_at: datetime | None = None
    transaction_hash: str = ""
    explorer_url: str | None = None


def refund_lines(payment_request: PaymentRequest, language: Language) -> list[RefundLine]:
    """Return the completed and the open refunds of the request, oldest first."""
    token, lines = payment_request.token, []
    for current in reversed(refunds_of(payment_request)):
        standing = current.standing
        payment = standing.payment
        number = language.number(price_text(current.refund.amount, token.decimals))
        amount = f"{number} {token.symbol}"
        if standing.is_open:
            needs_address = standing.status == Refund.Status.REQUIRES_ADDRESS
            lines.append(RefundLine(amount, claim_code=current.refund.code if needs_address else ""))
        elif standing.status == Refund.Status.COMPLETED and payment is not None:
            lines.append(
                RefundLine(
                    amount,
                    address=current.refund.recipient_address,
                    completed_at=payment.completed_at,
                    transaction_hash=payment.own_hash,
                    explorer_url=payment.explorer_url,
                )
            )
    return lines
