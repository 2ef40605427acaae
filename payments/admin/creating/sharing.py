"""Share a payment request or a payment link: its URL, a QR code, and a page to print."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from config.admin import portal
from payments.admin.records import in_token
from payments.api.links import payment_url, qr_code
from payments.models import PaymentLink, PaymentRequest


@dataclass(frozen=True)
class Share:
    """`amount` is what the customer pays; `end` is the deadline."""

    url: str
    qr_code: SafeString
    print_url: str
    merchant: str
    amount: str
    network: str
    description: str
    end: Any


def share_of(row: PaymentRequest | PaymentLink) -> Share:
    """Return the data for sharing. The object's merchant, token and chain must be loaded."""
    url = row.url if isinstance(row, PaymentLink) else payment_url(row)
    meta = row._meta
    return Share(
        url=url,
        qr_code=qr_code(url),
        print_url=reverse(f"admin:{meta.app_label}_{meta.model_name}_print", args=(row.pk,)),
        merchant=row.merchant.display_name or row.merchant.name,
        amount=amount_of(row),
        network=f"{row.token.symbol} on {row.chain.name}",
        description=row.description or "",
        end=row.expires_at,
    )


def amount_of(row: PaymentRequest | PaymentLink) -> str:
    """Return a token amount, a price, or the minimum and maximum if the customer enters the amount."""
    if row.price:
        return f"{row.price['amount']} {row.price['currency']}"
    if isinstance(row, PaymentLink) and row.min_amount is not None:
        smallest = in_token(row.min_amount, row.token)
        if row.max_amount is None:
            return f"{smallest} or more"
        return f"{smallest} to {in_token(row.max_amount, row.token)}"
    return in_token(row.amount, row.token)


def print_view(admin: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """Return the page to print for an object that the user may see."""
    portal.demand(admin.has_view_permission(request))
    row = admin.get_object(request, object_id)
    if row is None:
        meta = admin.model._meta
        return HttpResponseRedirect(reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist"))
    context = {"share": share_of(row), "back_url": portal.change_url(row)}
    return TemplateResponse(request, "admin/payments/share/print.html", context)
