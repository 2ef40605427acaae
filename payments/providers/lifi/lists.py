"""Parse LI.FI's lists of chains and tokens. Malformed entries are skipped."""

from decimal import Decimal
from typing import Any

from payments.providers import reading
from payments.providers.base import ListedToken, ProviderDown

_MAX_CHAINS = 2000
_LONGEST_SYMBOL = 32
_LONGEST_NAME = 100


def chains_from(body: Any) -> frozenset[int]:
    """Return the ids of all chains in the list. Raises ProviderDown if there are none."""
    chains = reading.items(reading.members(body, "chains").get("chains"), "chains", limit=_MAX_CHAINS)
    ids = (chain.get("id") for chain in chains if isinstance(chain, dict))
    served = frozenset(id_ for id_ in ids if isinstance(id_, int) and not isinstance(id_, bool))
    if not served:
        raise reading.malformed("chains")
    return served


def tokens_from(body: Any, chain_ids: frozenset[int]) -> list[ListedToken]:
    """Return the tokens on these chains. Tokens that are flagged or malformed are left out."""
    fields = reading.members(body, "tokens")
    by_chain = reading.members(fields.get("tokens", fields), "tokens")
    tokens = []
    for chain_id in sorted(chain_ids):
        listed = by_chain.get(str(chain_id))
        for token in listed if isinstance(listed, list) else ():
            made = _listed(token, chain_id)
            if made:
                tokens.append(made)
    return tokens


def _listed(token: Any, chain_id: int) -> ListedToken | None:
    if not isinstance(token, dict) or token.get("chainId") != chain_id:
        return None
    if token.get("verificationStatus") == "flagged":
        return None
    symbol = reading.shown(token.get("symbol"), limit=_LONGEST_SYMBOL)
    if not symbol:
        return None
    try:
        return ListedToken(
            chain_id=chain_id,
            token=reading.token(token.get("address"), "address"),
            symbol=symbol,
            name=reading.shown(token.get("name"), limit=_LONGEST_NAME) or symbol,
            decimals=reading.whole(token.get("decimals"), "decimals", limit=reading.MAX_DECIMALS),
            usd=_price(token.get("priceUSD")),
            logo_url=reading.web_address(token.get("logoURI")),
        )
    except ProviderDown:
        return None


def _price(value: Any) -> Decimal | None:
    """Return a token's price, or None if it is missing, zero or malformed."""
    try:
        return reading.dollars(value, "price") or None
    except ProviderDown:
        return None
