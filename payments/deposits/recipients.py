"""Reject deposit addresses as recipients, since money that arrives there belongs to another request.

Links and refunds check this when their address is set. `insert_request` checks it again for every new request.
"""

from chains import recipients
from chains.families import AddressError
from chains.models import Chain
from payments.models import DepositAddress


def recipient_address(chain: Chain, text: str) -> str:
    """Return the canonical address of a recipient.

    Raises AddressError if the address is invalid, or would lose the money. A deposit address is not noticed here.
    """
    address = recipients.recipient_address(chain, text)
    contracts = chain.family.deposits
    if contracts is not None and address == contracts.factory:
        raise AddressError("This is the factory of deposit addresses; funds sent there are lost.")
    return address


def require_no_deposit_address(address: str) -> None:
    """Raise AddressError if this canonical address was shown as a deposit address on any chain."""
    if DepositAddress.objects.filter(address=address).exists():
        raise AddressError(DepositAddress.NO_RECIPIENT)
