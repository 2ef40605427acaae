"""Select the chains on which to look up a wallet. The wallet's address and these chains are of the same family."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from chains.families import AddressError, read_address
from chains.lookup import LARGEST_ID
from chains.models import Chain
from chains.switches import offered_chains
from config.api.errors import ApiError, ErrorCode


@dataclass(frozen=True)
class Wallet:
    """A wallet's address in its canonical form, and the active chains on which its balances are looked up."""

    address: str
    chains: tuple[Chain, ...]


def find_wallet(text: str, chain_ids: Sequence[int] | None, *, refunded_on: int | None = None) -> Wallet:
    """Return the wallet with these chains. If `chain_ids` is None, use all active chains of the wallet's family.

    The chain `refunded_on` may be inactive, because a refund is on the chain of its payment. Raises ApiError for an
    invalid address, for an unknown or inactive chain, and for a chain of another family.
    """
    try:
        family, address = read_address(text)
    except AddressError as error:
        raise ApiError(ErrorCode.ADDRESS_INVALID, str(error), "wallet_address") from error
    active = Chain.objects.filter(Q(is_active=True) | Q(pk=refunded_on))
    if chain_ids is None:
        return Wallet(address, tuple(offered_chains(active.filter(chain_type=family.key))))
    chains = active.in_bulk([number for number in chain_ids if 0 <= number <= LARGEST_ID])
    for number in chain_ids:
        if number not in chains:
            raise ApiError(ErrorCode.CHAIN_UNKNOWN, f"There is no chain {number} here.", "chain_ids")
        if chains[number].chain_type != family.key:
            message = (
                f"This is a {family.label} address, but {chains[number].name} is not a {family.label} chain."
            )
            raise ApiError(ErrorCode.ADDRESS_INVALID, message, "wallet_address")
    return Wallet(address, tuple(chains[number] for number in dict.fromkeys(chain_ids)))
