"""Reject deposit addresses as recipients, since money that arrives there belongs to another request."""

from chains import recipients
from chains.families import AddressError
from chains.models import Chain
from config.database.compiled_query import CompiledQuery
from payments.models import DepositAddress

_EXAMPLE = "an address"
_shown: CompiledQuery[DepositAddress] = CompiledQuery(
    lambda address: DepositAddress.objects.order_by().filter(address=address)[:1], address=_EXAMPLE
)


def recipient_address(chain: Chain, text: str) -> str:
    """Return the canonical address of a recipient.

    Raises AddressError if the address is invalid or would lose the money, or if it is a deposit address on any
    chain.
    """
    address = recipients.recipient_address(chain, text)
    contracts = chain.family.deposits
    if contracts is None:
        return address
    if address == contracts.factory:
        raise AddressError("This is the factory of deposit addresses; funds sent there are lost.")
    if _shown.first(address=address) is not None:
        raise AddressError("This is the deposit address of a payment request. Use the wallet behind it.")
    return address
