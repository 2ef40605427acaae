"""Write the e-mail with a receipt: plain text in the customer's language. The only link leads to the receipt."""

import re
from html import unescape
from typing import Any

from django.conf import settings
from django.urls import reverse

from chains.amounts import price_text
from checkout.languages import Language
from merchants.languages import ENGLISH
from payments.models import Payment, PaymentRequest

# Mail programs turn texts such as `shop.example`, `https://…` and `me@shop.example` into links.
_JOINT = re.compile(r"(?<=\S)([.:@\u3002\uff0e\uff61])(?=\S)")
_BETWEEN_DIGITS = re.compile(r"[0-9][.:][0-9]")
_MARKS = re.compile(r"[\u2066-\u2069]")


def without_links(text: str) -> str:
    """Return a merchant's text on one line.

    A space is added after each character that joins the parts of a link, as in `shop. example`. So mail programs don't
    turn a part of the text into a link. Numbers such as 1.5 don't change.
    """
    line = " ".join(text.split())

    def parted(match: re.Match[str]) -> str:
        around = line[match.start() - 1 : match.end() + 1]
        return match[0] if _BETWEEN_DIGITS.fullmatch(around) else f"{match[0]} "

    return _JOINT.sub(parted, line)


def letter(payment_request: PaymentRequest, language: Language) -> tuple[str, str]:
    """Return the subject and the text."""
    merchant = without_links(payment_request.merchant.display_name or payment_request.merchant.name)
    amount = _amount(payment_request, language)
    subject = _text(language, "page.mailSubject", merchant=merchant, amount=amount)
    description = without_links(payment_request.description or "")
    lines = [
        _text(language, "page.mailIntro", merchant=merchant),
        "",
        *([description, ""] if description else []),
        *(f"{label}: {value}" for label, value in _facts(payment_request, language, amount, merchant)),
        "",
        _text(language, "page.mailLink"),
        _url(payment_request, language),
        "",
        _text(language, "page.mailWhy"),
        "",
    ]
    return _MARKS.sub("", subject), "\n".join(lines)


def _amount(payment_request: PaymentRequest, language: Language) -> str:
    token, price = payment_request.token, payment_request.price
    amount = f"{language.number(price_text(payment_request.amount, token.decimals))} {token.symbol}"
    return f"{amount} ({language.currency(price['amount'], price['currency'])})" if price else amount


def _facts(
    payment_request: PaymentRequest, language: Language, amount: str, merchant: str
) -> list[tuple[str, str]]:
    """Return labels and values. Values that the request doesn't have are left out."""
    completed_at = payment_request.completed_at
    facts = [
        ("page.askedFor", amount),
        ("page.completedAt", language.moment(completed_at) if completed_at else ""),
        ("page.paidToWhom", merchant),
        ("page.orderNumber", _order_number(payment_request)),
        ("page.code", payment_request.shortcode),
    ]
    return [(_text(language, key), value) for key, value in facts if value] + _transactions(
        payment_request, language
    )


def _order_number(payment_request: PaymentRequest) -> str:
    if not payment_request.merchant.show_order_number:
        return ""
    return without_links(payment_request.external_id or "")


def _transactions(payment_request: PaymentRequest, language: Language) -> list[tuple[str, str]]:
    """Return the transactions that paid the merchant, with the label of their chain, oldest first."""
    paid = payment_request.payments.filter(status=Payment.Status.COMPLETED).order_by("id")
    label = _text(language, "page.transactionOn", chain=payment_request.chain.name)
    payments = paid.select_related("chain", "lookup", "swap__delivery")
    return [(label, payment.delivered_by) for payment in payments if payment.delivered_by]


def _url(payment_request: PaymentRequest, language: Language) -> str:
    query = "" if language.tag == ENGLISH else f"?lang={language.tag}"
    return f"{settings.CHECKOUT_URL}{reverse('receipt', args=(payment_request.shortcode,))}{query}"


def _text(language: Language, key: str, **values: Any) -> str:
    """Return a message as plain text."""
    return unescape(language.say(key, values))
