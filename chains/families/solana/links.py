"""Build Solana Pay links, with the reference that binds the transfer."""

from urllib.parse import quote

from chains.families.base import LinkTerms
from chains.families.solana.references import reference_key

# The maximum length in encoded characters. Cameras have trouble with QR codes of longer links.
_MAX_LABEL = 48
_MAX_MESSAGE = 60
_ELLIPSIS = quote("…")


def solana_pay(terms: LinkTerms) -> str:
    parameters = {
        "amount": terms.amount,
        "spl-token": terms.token,
        "reference": reference_key(terms.reference) if terms.reference else "",
        "label": _fitting(terms.label, _MAX_LABEL),
        "message": _fitting(terms.message, _MAX_MESSAGE),
    }
    query = "&".join(f"{name}={value}" for name, value in parameters.items() if value)
    return f"solana:{terms.recipient}?{query}"


def _fitting(text: str, limit: int) -> str:
    """Encode `text` for a link. Cut it at `limit` encoded characters, but not inside a character."""
    text = " ".join(text.split())
    whole = quote(text, safe="")
    if len(whole) <= limit:
        return whole
    kept = ""
    for character in text:
        if len(longer := kept + quote(character, safe="")) > limit - len(_ELLIPSIS):
            break
        kept = longer
    return kept + _ELLIPSIS
