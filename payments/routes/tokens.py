"""Tokens to pay with that no merchant can ask for: those that a provider lists and the catalogue does not.

Such a token gets a row when its first route is kept, inactive and tagged `listed`: so routes and payments can name it,
and no list, no payment request and no choice of the admin's does. Its decimals are what its own contract says, since
amounts hang on them; its symbol and name are the list's, for people alone. `load_catalogue` may take the row over.
"""

import unicodedata
from collections.abc import Callable

from chains.client import ChainClient, ChainError
from chains.families import AddressError, get_client
from chains.models import LISTED, Chain, Token
from config.api.errors import ApiError, ErrorCode
from config.api.serializers import has_unsafe_characters
from payments.providers import token_list
from payments.providers.base import ListedToken
from payments.routes.refusals import no_node

_MOST_DECIMALS = 36

Client = Callable[[Chain], ChainClient]


def token_to_pay_with(chain: Chain, address: str, *, client: Client = get_client) -> Token:
    """Return the token with this address (empty for the chain's own coin): the catalogue's, else a provider's.

    One that has no row yet comes unsaved; `keep_token` gives it one. Raises ApiError where there is none, where it was
    switched off in the catalogue, and where no node tells its decimals.
    """
    unknown = ApiError(ErrorCode.TOKEN_UNKNOWN, f"{chain.name} has no such token here.", "token_address")
    try:
        address = chain.family.normalise_address(address) if address else ""
    except AddressError as error:
        raise unknown from error
    known = Token.objects.select_related("chain").filter(chain=chain, contract_address=address).first()
    if known is not None:
        if not known.is_payable:
            raise unknown
        return known
    listed = token_list.listed_token(chain.pk, address)
    if listed is None:
        raise unknown
    decimals = _decimals(chain, address, client)
    if decimals > _MOST_DECIMALS:
        raise unknown
    return listed_as_token(chain, listed, decimals)


def listed_as_token(chain: Chain, listed: ListedToken, decimals: int) -> Token:
    """Return what a provider lists as a token that has no row."""
    symbol = _clean(listed.symbol)[:32] or listed.token[:8] or chain.native_symbol
    return Token(
        chain=chain,
        contract_address=listed.token,
        symbol=symbol,
        name=_clean(listed.name)[:100] or symbol,
        decimals=decimals,
        is_active=False,
        tags=[LISTED],
    )


def keep_token(token: Token) -> Token:
    """Return the token's row, made now if there is none; whoever makes it first, there is one."""
    if not token._state.adding:
        return token
    made = {name: getattr(token, name) for name in ("symbol", "name", "decimals", "is_active", "tags")}
    kept, _ = Token.objects.get_or_create(
        chain=token.chain, contract_address=token.contract_address, defaults=made
    )
    kept.chain = token.chain
    return kept


def _clean(text: str) -> str:
    printable = "".join(
        character
        for character in text
        if not has_unsafe_characters(character) and unicodedata.category(character) != "Cf"
    )
    return " ".join(printable.split())


def _decimals(chain: Chain, address: str, client: Client) -> int:
    if not address:
        return chain.family.native_decimals
    try:
        (told,) = client(chain).token_metadata([address])
    except ChainError as error:
        raise no_node(chain) from error
    return told.decimals
