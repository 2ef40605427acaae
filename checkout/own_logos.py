"""Logos that we drew: of common tokens, and of the shipped chains.

A symbol proves nothing, because everyone can create a token named USDC. So only tokens of the catalogue have a logo:
the operator has entered their addresses.
"""

from urllib.parse import urljoin

from django.conf import settings
from django.templatetags.static import static

from chains.models import Token

_TOKENS = {
    "AVAX": "avax",
    "BNB": "bnb",
    "BTCB": "btcb",
    "DAI": "dai",
    "ETH": "eth",
    "EURC": "eurc",
    "FDUSD": "fdusd",
    "POL": "pol",
    "PYUSD": "pyusd",
    "SOL": "sol",
    "USDC": "usdc",
    # On some chains, Tether's token has another symbol.
    "USDT": "usdt",
    "USDT0": "usdt",
    "USDt": "usdt",
    "USD₮0": "usdt",
    "WBTC": "wbtc",
    "WETH": "weth",
    "cbBTC": "cbbtc",
}
_CHAINS = {
    1: "ethereum",
    10: "optimism",
    56: "bsc",
    137: "polygon",
    8453: "base",
    42161: "arbitrum",
    43114: "avalanche",
    1151111081099710: "solana",
    # Test networks have the logos of their main chains.
    43113: "avalanche",
    84532: "base",
    11155111: "ethereum",
    1151111081099712: "solana",
}


def own_token_logo(token: Token) -> str | None:
    """Return the absolute URL of our logo of the token.

    Return None if there is none, or if the token isn't in the catalogue.
    """
    name = None if token.is_only_listed else _TOKENS.get(token.symbol)
    return _url(name) if name else None


def own_chain_logo(chain_id: int) -> str | None:
    """Return the absolute URL of our logo of the chain, or None if there is none."""
    name = _CHAINS.get(chain_id)
    return _url(f"chain-{name}") if name else None


def _url(name: str) -> str:
    return urljoin(settings.CHECKOUT_URL, static(f"checkout/logos/{name}.svg"))
