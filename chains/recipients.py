"""Addresses at which money would be lost: no wallet to be paid, and none to be refunded, may be one of them.

What only a node can tell, such as whether an account is a mint, `ChainClient.recipient_problem` checks.
"""

from chains.families import AddressError
from chains.models import Chain, Token
from config.database.process_cache import ProcessCache

# Zero, and the precompiled contracts of any EVM chain. A token may be one: that of Polygon's own coin is 0x1010.
_LAST_RESERVED = 0xFFFF


def recipient_address(chain: Chain, text: str) -> str:
    """Return the address in canonical form. Raises AddressError if it is invalid or what arrives there is lost."""
    address = chain.family.normalise_address(text)
    is_reserved = int.from_bytes(chain.family.address_bytes(address)) <= _LAST_RESERVED
    if is_reserved or address in chain.family.unowned_addresses:
        raise AddressError("This address has no owner; funds sent there are lost.")
    if _tokens.get((chain.pk, address)):
        raise AddressError("This is the contract of a token; funds sent there are lost.")
    if any(address in contracts for contracts in chain.routers.values()):
        raise AddressError("This is a contract of a routing provider; funds sent there are lost.")
    return address


def _is_token(place: tuple[int, str]) -> bool:
    chain_id, address = place
    return Token.objects.filter(chain=chain_id, contract_address=address).exists()


# New tokens are announced to no process, so an address may be known as a wallet until the next change of the catalogue.
_tokens = ProcessCache(_is_token)
