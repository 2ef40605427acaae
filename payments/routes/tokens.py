"""Tokens that customers can pay with but merchants can't request. A provider lists them, and the catalogue doesn't.

The first route from such a token stores an inactive row with the tag `listed`, because routes and payments need a
row. The API's lists of tokens and the admin's choices leave such tokens out, and payment requests can't use them. The
token's decimals come from its contract, since amounts depend on them. The symbol and the name come from the
provider's list. `load_catalogue` may turn a listed token into a token of the catalogue.
"""

import unicodedata
from collections.abc import Callable

from chains.client import ChainClient, ChainError
from chains.families import AddressError
from chains.models import LISTED, Chain, Token
from config.api.errors import ApiError, ErrorCode
from config.api.serializers import has_unsafe_characters
from payments.providers import token_list
from payments.providers.base import ListedToken
from payments.routes.refusals import no_node

_MAX_DECIMALS = 36

Client = Callable[[Chain], ChainClient]


def token_to_pay_with(chain: Chain, address: str, *, client: Client) -> Token:
    """Return the token with this address ("" for native coin): from the catalogue, or else from a provider's list.

    A token without a row is not saved here; `store_token` saves it. Raises ApiError if there is no such token, if
    the catalogue deactivated it, or if no node returns its decimals.
    """
    message = f"This token on {chain.name} is not supported."
    unknown = ApiError(ErrorCode.TOKEN_UNKNOWN, message, "token_address")
    try:
        address = chain.family.normalise_address(address) if address else ""
    except AddressError as error:
        raise unknown from error
    existing = Token.objects.select_related("chain").filter(chain=chain, contract_address=address).first()
    if existing is not None:
        if not existing.is_payable:
            raise unknown
        return existing
    listed = token_list.listed_token(chain.pk, address)
    if listed is None:
        raise unknown
    decimals = _decimals(chain, address, client)
    if decimals > _MAX_DECIMALS:
        raise unknown
    return listed_as_token(chain, listed, decimals)


def listed_as_token(chain: Chain, listed: ListedToken, decimals: int) -> Token:
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


def store_token(token: Token) -> Token:
    """Return the token's row. Create it if there is none. Safe to run concurrently."""
    if not token._state.adding:
        return token
    made = {name: getattr(token, name) for name in ("symbol", "name", "decimals", "is_active", "tags")}
    row, _ = Token.objects.get_or_create(
        chain=token.chain, contract_address=token.contract_address, defaults=made
    )
    row.chain = token.chain
    return row


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
        (metadata,) = client(chain).token_metadata([address])
    except ChainError as error:
        raise no_node(chain) from error
    return metadata.decimals
