"""Links that wallets open to pay without being connected, in the form of the chain's family. Pure."""

from chains.amounts import display_amount
from chains.families.base import PaymentAsk
from payments.models import PaymentRequest


def payment_link(request: PaymentRequest) -> str:
    """Return the link that asks a wallet for exactly what remains of the request; "" where the family has no links.

    It carries the reference that binds the transfer where the request has references and the link has a place for one.
    """
    links = request.chain.family.links
    if links is None:
        return ""
    merchant = request.merchant
    return links.make(
        PaymentAsk(
            chain_id=request.chain_id,
            recipient=request.recipient_address,
            token=request.token.contract_address,
            units=request.amount_remaining,
            amount=display_amount(request.amount_remaining, request.token.decimals),
            reference=bytes(request.reference) if request.references else None,
            label=merchant.display_name or merchant.name,
            message=request.description or f"Payment {request.shortcode}",
        )
    )


def binds(request: PaymentRequest) -> bool:
    """Whether a transfer that a wallet makes from the request's link is tied to the request by it."""
    links = request.chain.family.links
    return links is not None and links.bind and request.references
