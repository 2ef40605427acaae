"""Links that open a wallet. The wallet need not be connected to the page (Solana Pay, EIP-681). Pure functions."""

from chains.amounts import display_amount
from chains.families.base import LinkTerms, WalletLinks
from config.api.serializers import one_line
from payments.models import PaymentRequest


def wallet_link(request: PaymentRequest, *, is_plain: bool = False) -> str:
    """Return the link to pay exactly the remaining amount, or "" if the chain family has no such links.

    The link contains the request's reference if the format supports it. With `is_plain`, the link has no reference.
    """
    links = _links(request)
    if links is None:
        return ""
    merchant = request.merchant
    return links.make(
        LinkTerms(
            chain_id=request.chain_id,
            recipient=request.recipient_address,
            token=request.token.contract_address,
            units=request.amount_remaining,
            amount=display_amount(request.amount_remaining, request.token.decimals),
            reference=bytes(request.reference) if request.references and not is_plain else None,
            label=merchant.display_name or merchant.name,
            message=one_line(request.description or "") or f"Payment {request.shortcode}",
        )
    )


def binds(request: PaymentRequest) -> bool:
    """Whether transfers by the link contain the request's reference, which binds them to the request."""
    links = _links(request)
    return links is not None and links.bind and request.references


def _links(request: PaymentRequest) -> WalletLinks | None:
    return request.chain.family.links if request.chain.is_installed else None
