"""Solana Pay's links, which carry the reference that binds the transfer. Pure."""

from urllib.parse import quote

from chains.families.base import PaymentAsk
from chains.families.solana.references import reference_key

# Encoded characters: a longer text makes a code that cameras read badly.
_MAX_LABEL = 48
_MAX_MESSAGE = 60
_ELLIPSIS = quote("…")


def solana_pay(ask: PaymentAsk) -> str:
    """Return the link."""
    asked = {
        "amount": ask.amount,
        "spl-token": ask.token,
        "reference": reference_key(ask.reference) if ask.reference else "",
        "label": _fitting(ask.label, _MAX_LABEL),
        "message": _fitting(ask.message, _MAX_MESSAGE),
    }
    query = "&".join(f"{name}={value}" for name, value in asked.items() if value)
    return f"solana:{ask.recipient}?{query}"


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
