"""Calls that move or approve tokens. A reference follows directly after a transfer's arguments."""

from dataclasses import dataclass

from eth_utils.address import to_checksum_address

from chains.families.evm.abi import TRANSFER, TRANSFER_FROM, WORD, account_bytes, encode_call

REFERENCE_BYTES = 16


@dataclass(frozen=True)
class TokenCall:
    """A call of a token's `transfer` or `transferFrom`, with the reference after its arguments.

    `sender` is the account whose tokens should move. `is_own` is true if `sender` is the caller (`transfer`).
    `is_marked` is true if exactly 16 bytes, the length of a reference, follow the arguments.
    """

    token: str
    sender: str
    recipient: str
    amount: int
    reference: bytes | None
    is_own: bool = True
    is_marked: bool = False


def token_call(caller: str, to: str, data: bytes) -> TokenCall | None:
    """Return the transfer that `caller` requests by sending `data` to the contract `to`, or None.

    Bytes after the reference are ignored, because wallets append a suffix that identifies them.
    """
    words = {TRANSFER: 2, TRANSFER_FROM: 3}.get(data[:4])
    end = 4 + (words or 0) * WORD
    if words is None or len(data) < end:
        return None
    *accounts, amount = (data[at : at + WORD] for at in range(4, end, WORD))
    if any(account[:12] != bytes(12) for account in accounts):
        return None
    *owner, recipient = (to_checksum_address(account[12:]) for account in accounts)
    return TokenCall(
        to,
        owner[0] if owner else caller,
        recipient,
        int.from_bytes(amount),
        reference_at(data, end),
        is_own=not owner,
        is_marked=is_marked(data, end),
    )


def reference_at(data: bytes, start: int) -> bytes | None:
    reference = data[start : start + REFERENCE_BYTES]
    return bytes(reference) if len(reference) == REFERENCE_BYTES else None


def is_marked(data: bytes, start: int) -> bool:
    """Whether exactly 16 bytes, the length of a reference, follow the arguments, which end at `start`."""
    return len(data) == start + REFERENCE_BYTES


def encode_transfer(
    token: str, recipient: str, amount: int, reference: bytes | None
) -> tuple[str, int, bytes]:
    """Return (to, value in wei, data) of a direct transfer that contains `reference`."""
    tail = reference or b""
    if token == "":
        return recipient, amount, tail
    return token, 0, encode_call("transfer", account_bytes(recipient), amount) + tail


def encode_approval(spender: str, amount: int) -> bytes:
    """Return the call that lets `spender` move `amount` base units of the caller's tokens (ERC-20 `approve`)."""
    return encode_call("approve", account_bytes(spender), amount)


def address_word(address: str) -> bytes:
    return account_bytes(address).rjust(WORD, b"\0")
