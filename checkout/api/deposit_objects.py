"""Deposit addresses in the API's responses."""

from typing import Annotated, Any

from msgspec import Meta

from chains.facts.deposits import Deposit
from config.api.answers import Answer, doc
from config.api.schema.operations import described

_HASH = r"^0x[0-9a-f]{64}$"
_DEPOSIT: dict[str, Any] = {
    "factory": "0x7Fb3B0f0bB28Ab3c1f9f3eCBd0BfA7F0f1Ce2D01",
    "salt": "0x" + "3c" * 32,
    "init_code": "0x60a0604052",
    "init_code_hash": "0x" + "9d" * 32,
}
_ADDRESS: dict[str, Any] = {"address": "0x4bC1d0E6f9b8D2d1F6a2f9E1b7A65F3E5D4C3B2A", "deposit": _DEPOSIT}


@described(
    "Deposit",
    "The values from which the deposit address is computed (CREATE2). Use them to check the address offline.",
    _DEPOSIT,
)
class DepositObject(Answer, kw_only=True):
    factory: Annotated[str, doc("The contract that deploys the forwarder behind the address.")]
    salt: Annotated[
        str, Meta(pattern=_HASH), doc("The Keccak-256 hash of the 16 bytes of the payment request's UUID.")
    ]
    init_code: Annotated[
        str, doc("The code that deploys the forwarder. It ends with the recipient's address.")
    ]
    init_code_hash: Annotated[str, Meta(pattern=_HASH), doc("The Keccak-256 hash of `init_code`.")]


@described("DepositAddress", "The deposit address of a payment request.", _ADDRESS)
class DepositAddressObject(Answer, kw_only=True):
    address: Annotated[
        str, doc("The address to send to. Money at this address can only move to the request's recipient.")
    ]
    deposit: Annotated[DepositObject, doc("The values that the address is computed from.")]

    @classmethod
    def of(cls, deposit: Deposit) -> "DepositAddressObject":
        return cls(
            address=deposit.address,
            deposit=DepositObject(
                factory=deposit.factory,
                salt=deposit.salt,
                init_code=deposit.init_code,
                init_code_hash=deposit.init_code_hash,
            ),
        )
