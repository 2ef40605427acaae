"""Build and check a payer's signature for a transfer that another account sends (EIP-3009, EIP-712 typed data).

Pure functions. `transfer_call` passes the signature as `v, r, s`, because only newer tokens with EIP-3009 accept it as
`bytes`.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

from eth_abi.abi import encode
from eth_account.messages import SignableMessage, encode_typed_data
from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError

from chains.client import EvmCall, Mention, Transfer
from chains.facts.authorizations import TokenDomain, TransferAuthorization
from chains.families.base import SignatureError
from chains.families.evm.abi import WORD, account_bytes, selector, topic
from chains.families.evm.quantities import to_hex

KIND: Final = "eip3009"
"""The catalogue's type for tokens with EIP-3009."""

_DOMAIN: Final = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
_TRANSFER: Final = {
    "from": "address",
    "to": "address",
    "value": "uint256",
    "validAfter": "uint256",
    "validBefore": "uint256",
    "nonce": "bytes32",
}
_NAME: Final = "TransferWithAuthorization"
_BY_VRS: Final = (
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
)
_BY_BYTES: Final = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
_SELECTOR: Final = selector(_BY_VRS)
SELECTORS: Final = frozenset({_SELECTOR, selector(_BY_BYTES)})
ENDS: Final = topic("AuthorizationUsed(address,bytes32)"), topic("AuthorizationCanceled(address,bytes32)")
"""The logs by which a token ends an authorization. The payer and the nonce are indexed."""
_TYPES: Final = [
    "address",
    "address",
    "uint256",
    "uint256",
    "uint256",
    "bytes32",
    "uint8",
    "bytes32",
    "bytes32",
]

_HEX = re.compile(r"0x(?:[0-9a-f]{2})+")
_ORDER: Final = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
_PARITY = 1 << 255
_FIRST_V = 27


def nonce_of(reference: bytes, route_id: str) -> bytes:
    """Return the nonce that binds an authorization to one route of the request with this reference."""
    return keccak(reference + route_id.encode("ascii"))


def typed_data(authorization: TransferAuthorization) -> dict[str, Any]:
    """Return the typed data for `eth_signTypedData_v4`. Amounts and times are decimal strings."""
    domain = authorization.domain
    return {
        "types": {"EIP712Domain": _fields(_DOMAIN), _NAME: _fields(_TRANSFER)},
        "primaryType": _NAME,
        "domain": {
            "name": domain.name,
            "version": domain.version,
            "chainId": domain.chain_id,
            "verifyingContract": domain.token,
        },
        "message": {
            "from": authorization.payer,
            "to": authorization.recipient,
            "value": str(authorization.amount),
            "validAfter": "0",
            "validBefore": str(authorization.valid_before),
            "nonce": to_hex(authorization.nonce),
        },
    }


def domain_separator(domain: TokenDomain) -> bytes:
    """Return the domain's hash, which the token's `DOMAIN_SEPARATOR()` should return too."""
    type_ = f"EIP712Domain({','.join(f'{type_} {name}' for name, type_ in _DOMAIN.items())})"
    texts = [keccak(text=each) for each in (type_, domain.name, domain.version)]
    words = [*texts, domain.chain_id, account_bytes(domain.token)]
    return keccak(encode(["bytes32", "bytes32", "bytes32", "uint256", "address"], words))


def digest(authorization: TransferAuthorization) -> bytes:
    """Return the hash that the payer's key signs."""
    message: SignableMessage = encode_typed_data(full_message=typed_data(authorization))
    return keccak(b"\x19" + message.version + message.header + message.body)


def read_signature(text: str) -> bytes:
    """Return the 65 bytes `r, s, v` of a signature by a key, with `v` 27 or 28. Raises SignatureError.

    Wallets send `v` as 27 and 28 or as 0 and 1, or put it into the highest bit of `s` (EIP-2098). Anyone can compute a
    second valid signature from the first. The second one has a high `s`, and tokens reject it.
    """
    raw = bytes.fromhex(text[2:]) if _HEX.fullmatch(text) else b""
    if len(raw) == 2 * WORD:
        parity_and_s = int.from_bytes(raw[WORD:])
        raw = raw[:WORD] + (parity_and_s % _PARITY).to_bytes(WORD) + bytes([parity_and_s // _PARITY])
    if len(raw) != 2 * WORD + 1:
        raise SignatureError("This should be the 65 bytes of a signature by the wallet's own key.")
    r, s, v = int.from_bytes(raw[:WORD]), int.from_bytes(raw[WORD : 2 * WORD]), raw[-1]
    if v < _FIRST_V:
        v += _FIRST_V
    if v not in (_FIRST_V, _FIRST_V + 1) or not (0 < r < _ORDER and 0 < s <= _ORDER // 2):
        raise SignatureError("The signature's values are out of range, so the token would reject it.")
    return raw[: 2 * WORD] + bytes([v])


def is_signed(authorization: TransferAuthorization, signature: bytes) -> bool:
    """Whether the payer's own key made this signature. `signature` has the form that `read_signature` returns."""
    r, s = int.from_bytes(signature[:WORD]), int.from_bytes(signature[WORD : 2 * WORD])
    try:
        made = Signature(vrs=(signature[-1] - _FIRST_V, r, s))
        key = made.recover_public_key_from_msg_hash(digest(authorization))
    except (BadSignature, ValidationError, ValueError):
        return False
    return bool(key.to_checksum_address() == authorization.payer)


def transfer_call(authorization: TransferAuthorization, signature: bytes) -> EvmCall:

    arguments = [
        account_bytes(authorization.payer),
        account_bytes(authorization.recipient),
        authorization.amount,
        0,
        authorization.valid_before,
        authorization.nonce,
        signature[-1],
        signature[:WORD],
        signature[WORD : 2 * WORD],
    ]
    return EvmCall(authorization.domain.token, _SELECTOR + encode(_TYPES, arguments))


def authorized_transfer(token: str, data: bytes) -> Transfer | None:
    """Return the transfer that a call of the token makes by an authorization; None for other calls."""
    words = [data[at : at + WORD] for at in range(4, 4 + 6 * WORD, WORD)]
    if data[:4] not in SELECTORS or len(words[-1]) < WORD or any(any(word[:12]) for word in words[:2]):
        return None
    payer, recipient = (to_checksum_address(word[12:]) for word in words[:2])
    return Transfer("call", token, payer, recipient, int.from_bytes(words[2]), authorization=words[5])


def is_ended_by(authorization: TransferAuthorization, mentions: Iterable[Mention]) -> bool:
    """Whether one of these logs shows that the token used or cancelled the authorization."""
    token, payer, nonce = authorization.key
    ends = {end + bytes(WORD - len(account_bytes(payer))) + account_bytes(payer) + nonce for end in ENDS}
    return any(each.is_log and each.contract == token and each.data in ends for each in mentions)


def _fields(types: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "type": type_} for name, type_ in types.items()]
