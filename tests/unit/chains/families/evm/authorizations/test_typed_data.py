"""The data that a payer signs for a transfer sent by another account, and the signatures that count."""

from dataclasses import replace
from typing import Any

import pytest
from eth_abi.abi import decode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak

from chains.facts.authorizations import TokenDomain, TransferAuthorization
from chains.families.base import SignatureError
from chains.families.evm.authorizations import typed_data
from chains.families.evm.authorizations.typed_data import is_signed, nonce_of, read_signature, transfer_call

PAYER = Account.from_key("0x" + "11" * 32)
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
REFERENCE, ROUTE = bytes(range(16)), "rt_4Zx1jG7pPq2oYt8VwNbc6K0m"
USDC = TokenDomain(8453, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin", "2")
AUTHORIZATION = TransferAuthorization(
    domain=USDC,
    payer=PAYER.address,
    recipient="0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
    amount=12_500_000,
    valid_before=1_795_000_000,
    nonce=nonce_of(REFERENCE, ROUTE),
)


def signed(authorization: TransferAuthorization = AUTHORIZATION) -> bytes:
    """Return the signature as wallets send it: r, s, v."""
    data = typed_data.typed_data(authorization)
    return bytes(Account.sign_typed_data(PAYER.key, full_message=data).signature)


def text(signature: bytes) -> str:
    return "0x" + signature.hex()


def test_nonce_is_the_hash_of_reference_and_route() -> None:
    assert nonce_of(REFERENCE, ROUTE) == keccak(REFERENCE + ROUTE.encode())
    assert len({nonce_of(REFERENCE, ROUTE), nonce_of(bytes(16), ROUTE), nonce_of(REFERENCE, "rt_other")}) == 3


def test_typed_data_has_the_terms_of_the_transfer() -> None:
    data = typed_data.typed_data(AUTHORIZATION)
    assert data["primaryType"] == "TransferWithAuthorization"
    assert data["domain"] == {
        "name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": USDC.token,
    }  # fmt: skip
    assert data["message"] == {
        "from": PAYER.address,
        "to": AUTHORIZATION.recipient,
        "value": "12500000",
        "validAfter": "0",
        "validBefore": "1795000000",
        "nonce": text(AUTHORIZATION.nonce),
    }


def test_domain_separator_is_that_of_usdc_on_base() -> None:
    published = "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f"
    assert typed_data.domain_separator(USDC).hex() == published
    assert encode_typed_data(full_message=typed_data.typed_data(AUTHORIZATION)).header.hex() == published


def test_struct_hash_is_that_of_eip_3009() -> None:
    kind = "transferWithAuthorization".replace("t", "T", 1)
    type_ = keccak(
        text=f"{kind}(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    )
    assert type_.hex() == "7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267"
    words = [
        type_,
        *(bytes.fromhex(each[2:]).rjust(32, b"\0") for each in (PAYER.address, AUTHORIZATION.recipient)),
        *(each.to_bytes(32) for each in (AUTHORIZATION.amount, 0, AUTHORIZATION.valid_before)),
        AUTHORIZATION.nonce,
    ]
    separator = typed_data.domain_separator(USDC)
    assert typed_data.digest(AUTHORIZATION) == keccak(b"\x19\x01" + separator + keccak(b"".join(words)))


def forms(signature: bytes) -> list[bytes]:
    """Return the signature in each form that wallets send."""
    r, s, v = signature[:32], signature[32:64], signature[64]
    compact = (int.from_bytes(s) | ((v - 27) << 255)).to_bytes(32)
    return [signature, r + s + bytes([v - 27]), r + compact]


@pytest.mark.parametrize("amount", range(1, 9))  # both parities
def test_signature_in_each_form_is_read_as_one(amount: int) -> None:
    authorization = replace(AUTHORIZATION, amount=amount)
    signature = signed(authorization)
    assert [read_signature(text(form)) for form in forms(signature)] == [signature] * 3
    assert is_signed(authorization, signature)


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 12_500_001}, {"recipient": PAYER.address}, {"valid_before": 1_795_000_001}, {"nonce": bytes(32)},
        {"domain": replace(USDC, chain_id=1)}, {"domain": replace(USDC, name="USDC")},
        {"domain": replace(USDC, version="1")}, {"domain": replace(USDC, token=PAYER.address)},
        {"payer": AUTHORIZATION.recipient},
    ],
)  # fmt: skip
def test_signature_of_other_terms_is_not_the_payers(change: dict[str, Any]) -> None:
    assert not is_signed(replace(AUTHORIZATION, **change), signed())


def test_signature_with_high_s_is_rejected() -> None:
    signature = signed()
    high = ORDER - int.from_bytes(signature[32:64])
    malleable = signature[:32] + high.to_bytes(32) + bytes([27 + 28 - signature[64]])
    with pytest.raises(SignatureError, match="out of range"):
        read_signature(text(malleable))


@pytest.mark.parametrize(
    "wrong",
    [
        b"", bytes(63), bytes(65), bytes(64), bytes(66), signed()[:64] + b"\x1d", signed() + b"\0",
        b"\xff" * 65, ORDER.to_bytes(32) + signed()[32:], bytes(32) + signed()[32:], b"\1" * 4096,
    ],
    ids=lambda wrong: f"{len(wrong)} bytes",
)  # fmt: skip
def test_malformed_signature_is_rejected(wrong: bytes) -> None:
    with pytest.raises(SignatureError):
        read_signature(text(wrong))


def test_signature_without_a_public_key_is_not_the_payers() -> None:
    # No point of the curve has this x coordinate.
    assert not is_signed(AUTHORIZATION, (5).to_bytes(32) + (1).to_bytes(32) + b"\x1b")


def test_call_has_the_signed_terms_and_nothing_after_them() -> None:
    signature = signed()
    call = transfer_call(AUTHORIZATION, signature)
    assert (call.to, call.value, call.data[:4].hex()) == (USDC.token, 0, "e3ee160e")
    types = ["address", "address", "uint256", "uint256", "uint256", "bytes32", "uint8", "bytes32", "bytes32"]
    assert len(call.data) == 4 + 32 * len(types)
    assert decode(types, call.data[4:]) == (
        PAYER.address.lower(), AUTHORIZATION.recipient.lower(), 12_500_000, 0, 1_795_000_000, AUTHORIZATION.nonce,
        signature[64], signature[:32], signature[32:64],
    )  # fmt: skip


def test_both_overloads_are_known() -> None:
    assert {each.hex() for each in typed_data.SELECTORS} == {"e3ee160e", "cf092995"}
