"""Links that wallets open to pay without being connected: Solana Pay and EIP-681. Pure."""

from urllib.parse import quote

from chains.amounts import display_amount
from chains.families.solana.references import reference_key
from chains.models import ChainType
from payments.models import PaymentRequest

# Encoded characters: a longer text makes a code that cameras read badly.
_MOST_LABEL = 48
_MOST_MESSAGE = 60


def payment_link(request: PaymentRequest) -> str:
    """Return the link that asks a wallet for exactly what remains of the request.

    On Solana it carries the reference that binds the transfer, where the request has references; EIP-681 has no place
    for one.
    """
    if request.chain.chain_type == ChainType.SOLANA:
        return _solana_pay(request)
    return _eip_681(request)


def binds(request: PaymentRequest) -> bool:
    """Whether a transfer that a wallet makes from the request's link is tied to the request by it."""
    return request.chain.chain_type == ChainType.SOLANA and request.references


def _solana_pay(request: PaymentRequest) -> str:
    merchant = request.merchant.display_name or request.merchant.name
    asked = {
        "amount": display_amount(request.amount_remaining, request.token.decimals),
        "spl-token": request.token.contract_address,
        "reference": reference_key(bytes(request.reference)) if request.references else "",
        "label": _fitting(merchant, _MOST_LABEL),
        "message": _fitting(request.description or f"Payment {request.shortcode}", _MOST_MESSAGE),
    }
    query = "&".join(f"{name}={value}" for name, value in asked.items() if value)
    return f"solana:{request.recipient_address}?{query}"


def _eip_681(request: PaymentRequest) -> str:
    units, recipient = request.amount_remaining, request.recipient_address
    if not request.token.contract_address:
        return f"ethereum:{recipient}@{request.chain_id}?value={units}"
    token = request.token.contract_address
    return f"ethereum:{token}@{request.chain_id}/transfer?address={recipient}&uint256={units}"


def _fitting(text: str, most: int) -> str:
    """Return `text`, encoded for a link, cut where it gets longer than `most` characters; never inside a character."""
    text = " ".join(text.split())
    whole = quote(text, safe="")
    if len(whole) <= most:
        return whole
    kept = ""
    for character in text:
        if len(longer := kept + quote(character, safe="")) > most - len(_ELLIPSIS):
            break
        kept = longer
    return kept + _ELLIPSIS


_ELLIPSIS = quote("…")
