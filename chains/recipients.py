"""Reject recipients at whose address the money would be lost.

Checks that need a node, such as whether an account is a mint, are in `ChainClient.recipient_problem`.
"""

from chains.families import AddressError
from chains.models import Chain, Token
from config.database.process_cache import ProcessCache


def recipient_address(chain: Chain, text: str) -> str:
    """Return the canonical address. Raises AddressError if it is invalid, or if money sent to it would be lost."""
    address = chain.family.normalise_address(text)
    is_reserved = int.from_bytes(chain.family.address_bytes(address)) <= chain.family.last_reserved
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


# Processes aren't notified of new tokens, so a new token's address counts as a wallet until the catalogue changes.
_tokens = ProcessCache(_is_token)
