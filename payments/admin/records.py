"""Format amounts, prices, links and badges for the admin pages."""

from collections.abc import Iterable
from datetime import datetime

from django.utils.html import format_html, format_html_join

from chains.amounts import display_amount, format_amount
from chains.models import Chain, Token
from config.admin import portal
from config.admin.cells import NOTHING, clipped, copyable, exact, outside
from payments.models import Payment, PaymentRequest, delivery_of

REQUEST_COLOURS = {"active": "info", "completed": "success", "expired": "warning", "cancelled": "danger"}
PAYMENT_COLOURS = {"pending": "info", "processing": "info", "completed": "success", "failed": "danger"}


_SHORT_FRACTION = 4


def exact_amount(raw: int, decimals: int) -> str:
    """Return an amount with thousands separators and all its digits: `1,234.50`."""
    whole, point, fraction = display_amount(raw, decimals).partition(".")
    return f"{int(whole):,}{point}{fraction}"


def short_amount(raw: int, decimals: int) -> str:
    """Return an amount with thousands separators and up to four decimal places, truncated."""
    whole, _, fraction = format_amount(raw, decimals).partition(".")
    digits = fraction[:_SHORT_FRACTION].rstrip("0")
    shown = f"{int(whole):,}"
    if raw and not digits and shown == "0":
        return f"<0.{'1'.rjust(_SHORT_FRACTION, '0')}"
    return f"{shown}.{digits.ljust(min(2, decimals), '0')}" if digits else shown


def in_token(raw: int | None, token: Token | None) -> str:
    """Return an amount with its symbol: `1,234.50 USDC`."""
    return NOTHING if raw is None or token is None else f"{exact_amount(raw, token.decimals)} {token.symbol}"


def amount_cell(raw: int | None, token: Token | None, note: str = "") -> str:
    """Return an amount for a list, with at most four decimal places. The HTML title has all digits."""
    exact_text = in_token(raw, token)
    if raw is None or token is None:
        return format_html('<span class="q-amount">{}</span>', exact_text)
    short = short_amount(raw, token.decimals)
    is_cut = raw % 10 ** max(token.decimals - _SHORT_FRACTION, 0) != 0 and not short.startswith("<")
    shown = f"{short}…" if is_cut else short if short.startswith("<") else exact_amount(raw, token.decimals)
    look = "q-amount q-quiet" if note else "q-amount"
    return format_html(
        '<span class="{}" title="{}">{} {}{}</span>', look, exact_text, shown, token.symbol, note
    )


def price_facts(order: PaymentRequest) -> list[tuple[str, object]]:
    """Return a request's price and exchange rate, or an empty list if it has no price."""
    if not order.price or not order.rate:
        return []
    rate = order.rate
    observed = (
        f"{', '.join(rate['sources'])}, observed at {exact(datetime.fromisoformat(rate['observed_at']))}"
    )
    return [
        ("Price", f"{order.price['amount']} {order.price['currency']}"),
        ("Rate", f"{rate['value']} {rate['currency']} for 1 {rate['token']} ({observed})"),
    ]


def deposit_facts(order: PaymentRequest) -> list[tuple[str, object]]:
    """Return the request's deposit address, or an empty list if the address was never shown."""
    if order.deposit_address is None:
        return []
    link = address_link(order.chain, order.deposit_address)
    return [("Deposit address", copyable(order.deposit_address, link))]


def value_fact(payment: Payment) -> str:
    """Return a completed payment's value in the merchant's reporting currency, or why it is unknown."""
    if payment.value is None:
        if payment.status != Payment.Status.COMPLETED:
            return ""
        return (
            "waits for a rate" if payment.value_due_at else "unknown: the token had no price in the catalogue"
        )
    value = payment.value
    estimate = ", estimated from a later rate" if value["estimated"] else ""
    return f"{value['amount']} {value['currency']} at {value['rate']}{estimate}"


def payment_badges(payment: Payment) -> str:
    labels = [portal.badge(payment.status, PAYMENT_COLOURS)]
    if payment.reorged:
        labels.append(portal.badge("reorged", {"reorged": "danger"}))
    if payment.is_simulated:
        labels.append(portal.badge("test", {"test": "warning"}))
    return together(labels)


def transaction_url(payment: Payment) -> str:
    """Return the transaction's URL on the chain's explorer.

    Return "" if there is no hash or no explorer, or if the payment is simulated.
    """
    if payment.is_simulated or not payment.own_hash:
        return ""
    return outside(payment.chain.explorer_url, f"tx/{payment.own_hash}")


def delivery_url(payment: Payment) -> str:
    """Return the URL of a swap's delivery on the explorer.

    Return "" if the payment is simulated or the chain has no explorer.
    """
    delivery = delivery_of(payment)
    if payment.is_simulated or delivery is None:
        return ""
    return outside(payment.request.chain.explorer_url, f"tx/{delivery.transaction_hash}")


def address_link(chain: Chain, address: str) -> str:
    url = outside(chain.explorer_url, f"address/{address}")
    return portal.link(url, address) if url and address else address or NOTHING


def transaction_cell(payment: Payment) -> str:
    return clipped(payment.own_hash, transaction_url(payment)) if payment.own_hash else NOTHING


def together(labels: Iterable[str]) -> str:
    return format_html(
        '<span class="q-badges">{}</span>', format_html_join("", "{}", ((each,) for each in labels))
    )
