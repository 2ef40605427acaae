"""Recompute deposit addresses and build sweeps, offline and without an API key.

import quittance

deposit = quittance.deposits.find("0197b3c8-5a00-7def-8123-456789abcdef", "0x…") # the request's ID and recipient
transaction = quittance.deposits.build_sweep([(deposit, "0x…")]) # the token's contract; "" for the native coin
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from quittance.keccak import keccak256

FACTORY = "0xc29d159942722399849F7575503fBd827902b879"
"""The factory of deposit addresses. It has this address on every EVM chain; deploy it on a chain that lacks it."""

GAS_PER_SWEEP = 300_000
"""The maximum gas of one sweep in a batch. The transaction needs this much for its last sweep."""

# The init code of a forwarder, without the recipient at its end. Built from contracts/Forwarder.sol.
_INIT_CODE = bytes.fromhex(
    "60a034606457601f61017138819003918201601f19168301916001600160401b03831184841017606957808492602094"
    "604052833981010312606457516001600160a01b038116810360645760805260405160f1908161008082396080518160"
    "4b0152f35b600080fd5b634e487b7160e01b600052604160045260246000fdfe608060405260043610156019575b3615"
    "601757600080fd5b005b60003560e01c6301681a6203600d573460b357602036600319011260b3576004356001600160"
    "a01b038116810360b3577f000000000000000000000000000000000000000000000000000000000000000090801560b8"
    "576370a0823160e01b6000523060045260206024806000845afa1560b35760203d1060b3576044600080809493819463"
    "a9059cbb60e01b83526004525af11560b357005b600080fd5b5060008080809347908183527f7f221332ee403570bf4d"
    "61630b58189ea566ff1635269001e9df6a890f413dd8602084a15af11560b35700"
)
_SWEEP = keccak256(b"sweep((address,bytes32,address)[],uint256)")[:4]
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_ZERO = "0x" + "00" * 20


@dataclass(frozen=True)
class Deposit:
    """A deposit address with its recipient, and the values from which it is computed. All are in hex."""

    address: str
    recipient: str
    factory: str
    salt: str
    init_code: str
    init_code_hash: str


def find(payment_request_id: str | UUID, recipient: str, *, factory: str = FACTORY) -> Deposit:
    """Return the deposit address of a payment request. Raises ValueError for an invalid ID or address."""
    return from_salt("0x" + keccak256(_uuid(payment_request_id).bytes).hex(), recipient, factory=factory)


def from_salt(salt: str, recipient: str, *, factory: str = FACTORY) -> Deposit:
    """Return the deposit address of a salt, as the API returns it. Raises ValueError for an invalid value."""
    payee = _payee(recipient)
    code = _INIT_CODE + bytes(12) + payee
    code_hash = "0x" + keccak256(code).hex()
    return Deposit(
        address=compute_address(factory, salt, init_code_hash=code_hash),
        recipient=_checksummed(payee),
        factory=_checksummed(_address(factory)),
        salt="0x" + _word(salt, "salt").hex(),
        init_code="0x" + code.hex(),
        init_code_hash=code_hash,
    )


def compute_address(
    factory: str, salt: str, *, init_code: str | None = None, init_code_hash: str | None = None
) -> str:
    """Return the address of a contract that `factory` deploys by CREATE2 (EIP-1014).

    Pass the contract's init code, the hash of the init code, or both.

    Raises ValueError for invalid values, and if the hash is not that of the code.
    """
    if init_code is None and init_code_hash is None:
        raise ValueError("Pass init_code or init_code_hash.")
    code_hash = None if init_code_hash is None else _word(init_code_hash, "init_code_hash")
    if init_code is not None:
        computed = keccak256(_bytes(init_code, "init_code"))
        if code_hash not in (None, computed):
            raise ValueError("init_code_hash is not the hash of init_code.")
        code_hash = computed
    digest = keccak256(b"\xff" + _address(factory) + _word(salt, "salt") + (code_hash or b""))
    return _checksummed(digest[12:])


def recipient_of(init_code: str) -> str:
    """Return the recipient in this init code. The forwarder can send to no other address.

    Raises ValueError if `init_code` isn't that of a forwarder. In that case, don't send money to the address.
    """
    code = _bytes(init_code, "init_code")
    if len(code) != len(_INIT_CODE) + 32 or not code.startswith(_INIT_CODE + bytes(12)):
        raise ValueError("This is not the init code of a forwarder of this release.")
    return _checksummed(code[-20:])


def build_sweep(
    sweeps: Sequence[tuple[Deposit, str]], *, gas_per_sweep: int = GAS_PER_SWEEP
) -> dict[str, str]:
    """Return the unsigned transaction that sweeps each asset. The transaction first deploys forwarders that don't exist
    yet.

    Each sweep is a deposit and a token's contract, or "" for the native coin. Any account may send the transaction.
    Use the chain that has the money. Raises ValueError for an empty list, or for deposits of several factories.
    """
    factories = {deposit.factory for deposit, _ in sweeps}
    if len(factories) != 1:
        raise ValueError("Pass one or more deposits of one factory.")
    rows = [
        bytes(12)
        + _payee(deposit.recipient)
        + _word(deposit.salt, "salt")
        + bytes(12)
        + _address(token or _ZERO)
        for deposit, token in sweeps
    ]
    head = (64).to_bytes(32, "big") + gas_per_sweep.to_bytes(32, "big")
    data = _SWEEP + head + len(rows).to_bytes(32, "big") + b"".join(rows)
    return {"to": factories.pop(), "data": "0x" + data.hex(), "value": "0x0"}


def _uuid(text: str | UUID) -> UUID:
    try:
        return text if isinstance(text, UUID) else UUID(text)
    except ValueError:
        raise ValueError(f"{text!r} is not the ID of a payment request, which is a UUID.") from None


def _payee(address: str) -> bytes:
    payee = _address(address)
    if payee == bytes(20):
        raise ValueError("The zero address can't be a recipient: what it receives is lost.")
    return payee


def _address(text: str) -> bytes:
    """Return the 20 bytes of an address. Raises ValueError for a wrong checksum, for example after a typing error."""
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"{text!r} is not an address: it should be 0x and 40 hexadecimal digits.")
    address = bytes.fromhex(text[2:])
    if text[2:] not in (text[2:].lower(), text[2:].upper()) and text != _checksummed(address):
        raise ValueError(f"{text} has a wrong checksum: check it for a typing error.")
    return address


def _checksummed(address: bytes) -> str:
    """Return the address with its checksum (EIP-55)."""
    digits = address.hex()
    digest = keccak256(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if int(mark, 16) > 7 else digit for digit, mark in zip(digits, digest, strict=False)
    )


def _word(text: str, name: str) -> bytes:
    word = _bytes(text, name)
    if len(word) != 32:
        raise ValueError(f"{name} should have 32 bytes, but has {len(word)}.")
    return word


def _bytes(text: str, name: str) -> bytes:
    if not re.fullmatch(r"0x(?:[0-9a-fA-F]{2})*", text):
        raise ValueError(f"{name} should be 0x and hexadecimal digits.")
    return bytes.fromhex(text[2:])
