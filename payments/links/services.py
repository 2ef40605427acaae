"""Create and change payment links, and find them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from chains.models import Token
from merchants.models import Merchant
from merchants.recipients import require_allowed
from payments.models import PaymentLink, PaymentLinkChange
from payments.prices.pricing import with_amount
from payments.requests.creation import NewRequest, Price

_CREATED = "created"


@dataclass(frozen=True)
class NewLink:
    """The validated parameters of a new link. Amounts are base units.

    Exactly one of `amount`, `price` and `min_amount` is set.
    """

    name: str
    token: Token
    recipient_address: str
    amount: int | None = None
    price: Price | None = None
    min_amount: int | None = None
    max_amount: int | None = None
    description: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    redirect_url: str | None = None
    max_payments: int | None = None
    expires_at: datetime | None = None


def require_convertible(new: NewLink) -> None:
    """Raise ApiError if the link's price can't be converted now.

    Queries the rate sources, so call this function before the database transaction.
    """
    if new.price is not None:
        with_amount(NewRequest(new.token, 0, new.recipient_address, lifetime=timedelta(), price=new.price))


def create_link(merchant: Merchant, new: NewLink, *, actor: str) -> PaymentLink:
    """Create an active link. Raises ApiError if the merchant does not allow the recipient."""
    link = PaymentLink(
        merchant=merchant,
        name=new.name,
        chain=new.token.chain,
        token=new.token,
        recipient_address=new.recipient_address,
        amount=new.amount,
        price=new.price and {"currency": new.price.currency, "amount": str(new.price.amount)},
        min_amount=new.min_amount,
        max_amount=new.max_amount,
        description=new.description,
        metadata=new.metadata,
        redirect_url=new.redirect_url,
        max_payments=new.max_payments,
        expires_at=new.expires_at,
        created_by=actor,
    )
    with transaction.atomic():
        require_allowed(merchant, link.chain.chain_type, link.recipient_address)
        link.save(force_insert=True)
        PaymentLinkChange.objects.create(link=link, what=_CREATED, actor=actor)
    return link


def change_link(
    link: PaymentLink, *, name: str | None = None, is_active: bool | None = None, actor: str
) -> PaymentLink:
    """Rename the link, or switch it on or off, and write its history. None keeps the old value.

    Switching a link off waits for requests that are being created from it. After that, no request can be created from
    it.
    """
    with transaction.atomic():
        locked = PaymentLink.objects.select_for_update(no_key=True).get(pk=link.pk)
        changes: dict[str, Any] = {}
        lines: list[str] = []
        if name is not None and name != locked.name:
            changes["name"] = name
            lines.append(f"renamed from “{locked.name}” to “{name}”")
        if is_active is not None and is_active != locked.is_active:
            changes["is_active"] = is_active
            lines.append("activated" if is_active else "deactivated")
        if changes:
            PaymentLink.objects.filter(pk=link.pk).update(**changes)
            PaymentLinkChange.objects.bulk_create(
                PaymentLinkChange(link=locked, what=line, actor=actor) for line in lines
            )
    return with_catalogue(PaymentLink.objects.all()).get(pk=link.pk)


def with_catalogue(links: QuerySet[PaymentLink]) -> QuerySet[PaymentLink]:
    """Load the relations that the API object and the link's page read."""
    return links.select_related("merchant", "chain", "token__chain")
