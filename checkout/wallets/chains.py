"""Which chains a wallet can be looked up on: those of its own family, since its address means nothing on others."""

from collections.abc import Sequence
from dataclasses import dataclass

from chains.families import AddressError, read_address
from chains.lookup import LARGEST_ID
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode


@dataclass(frozen=True)
class Wallet:
    """An address in its canonical form, and the active chains on which it is to be looked up."""

    address: str
    chains: tuple[Chain, ...]


def find_wallet(text: str, chain_ids: Sequence[int] | None = None) -> Wallet:
    """Return the wallet with these chains, or with all active ones of its family.

    Raises ApiError for what is no address, for an unknown or inactive chain, and for one of another family.
    """
    try:
        family, address = read_address(text)
    except AddressError as error:
        raise ApiError(ErrorCode.ADDRESS_INVALID, str(error), "wallet_address") from error
    active = Chain.objects.filter(is_active=True)
    if chain_ids is None:
        return Wallet(address, tuple(active.filter(chain_type=family.key)))
    found = active.in_bulk([number for number in chain_ids if 0 <= number <= LARGEST_ID])
    for number in chain_ids:
        if number not in found:
            raise ApiError(ErrorCode.CHAIN_UNKNOWN, f"There is no chain {number} here.", "chain_ids")
        if found[number].chain_type != family.key:
            message = (
                f"{found[number].name} is no {family.label} chain, and this is a {family.label} address."
            )
            raise ApiError(ErrorCode.ADDRESS_INVALID, message, "wallet_address")
    return Wallet(address, tuple(found[number] for number in dict.fromkeys(chain_ids)))
