"""Signatures in many formats are converted to one. Anything else is rejected."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from solders.keypair import Keypair

from chains.client import ChainError
from chains.families import SignatureError, family_of
from chains.families.base import LONGEST_SIGNATURE
from chains.families.evm.signatures import is_signed_by_contract, is_signed_by_key
from chains.rpc.json_rpc import Call, RpcFault

TEXT = "I will pay."
SIGNER = Account.from_key("0x" + "5e" * 32)
EVM = SIGNER.sign_message(encode_defunct(text=TEXT)).signature.hex().removeprefix("0x")
SOLANA = Keypair.from_seed(bytes(32)).sign_message(TEXT.encode())
SOLANA_BYTES = bytes(SOLANA)


@pytest.mark.parametrize(
    "given",
    [
        "0x" + EVM,
        EVM,
        "0X" + EVM.upper(),
        f"  0x{EVM}\r\n",
        f'"0x{EVM}"',
        json.dumps({"address": SIGNER.address, "msg": TEXT, "sig": EVM, "version": "2"}),
        json.dumps({"signature": "0x" + EVM}, indent=2),
    ],
)
def test_an_evm_signature_becomes_lower_case_hex(given: str) -> None:
    assert family_of("evm").normalise_signature(given) == "0x" + EVM


def test_the_last_byte_may_count_from_0_as_hardware_wallets_do() -> None:
    counted_from_0 = EVM[:-2] + f"{int(EVM[-2:], 16) - 27:02x}"
    given = family_of("evm").normalise_signature(counted_from_0)
    assert is_signed_by_key(SIGNER.address, TEXT, given)


def test_contract_signs_by_magic_value_and_node_failure_raises() -> None:
    def echo(calls: Sequence[Call]) -> list[Any]:
        return [call["data"] if method == "eth_call" else "0x6001" for method, (call, *_) in calls]

    def yes(calls: Sequence[Call]) -> list[Any]:
        return ["0x1626ba7e" + "00" * 28 for _ in calls]

    def failing(code: int, message: str) -> Callable[[Sequence[Call]], list[Any]]:
        fault = RpcFault(code, message)
        return lambda calls: [fault if method == "eth_call" else "0x6001" for method, _ in calls]

    for code, message in (
        (3, "execution reverted"),
        (3, "daily limit exceeded"),
        (-32603, "VM Exception: revert"),
        (-32603, "EVM error OutOfGas"),
        (-32000, "execution reverted: too many requests"),
        (-32000, "out of gas"),
        (-32000, "invalid jump destination"),
        (-32015, "VM execution error."),
    ):
        assert not is_signed_by_contract(SIGNER.address, TEXT, "0x12", failing(code, message))
    for code, message in (
        (-32005, "daily limit reached"),
        (-32000, "header not found"),
        (-32000, "execution aborted (timeout = 5s)"),
        (-32000, "upstream unavailable"),
    ):
        with pytest.raises(ChainError):
            is_signed_by_contract(SIGNER.address, TEXT, "0x12", failing(code, message))
    assert is_signed_by_contract(SIGNER.address, TEXT, "0x12", yes)
    assert not is_signed_by_contract(SIGNER.address, TEXT, "0x12", echo)


def test_a_contract_accounts_signature_may_be_longer() -> None:
    assert family_of("evm").normalise_signature("ab" * 300) == "0x" + "ab" * 300


@pytest.mark.parametrize(
    "given",
    [
        str(SOLANA),
        f" {SOLANA}\n",
        base64.b64encode(SOLANA_BYTES).decode(),
        SOLANA_BYTES.hex(),
        "0x" + SOLANA_BYTES.hex(),
        "0X" + SOLANA_BYTES.hex().upper(),
        json.dumps({"signature": str(SOLANA), "publicKey": "5e"}),
    ],
)
def test_a_solana_signature_becomes_base58(given: str) -> None:
    assert family_of("solana").normalise_signature(given) == str(SOLANA)


@pytest.mark.parametrize(
    ("family", "given"),
    [
        ("evm", ""),
        ("evm", "0x"),
        ("evm", EVM[:-1]),
        ("evm", EVM[:64] + " " + EVM[64:]),
        ("evm", "é" * 130),
        ("evm", "٣" * 130),
        ("evm", "ab" * LONGEST_SIGNATURE),
        ("evm", str(SOLANA)),
        ("evm", '{"sig": 5}'),
        ("evm", "{" * 9000),
        ("evm", '{"a":' * 3000),
        ("solana", ""),
        ("solana", "0x" + EVM),
        ("solana", str(SOLANA)[:-3]),
        ("solana", base64.b64encode(SOLANA_BYTES[:-1]).decode()),
        ("solana", SOLANA_BYTES.hex()[:-2]),
        ("solana", "0X" + SOLANA_BYTES.hex()[:-2]),
        ("solana", "0x0x" + SOLANA_BYTES.hex()[:-2]),
        ("solana", "٣" * 128),
        ("solana", "1" * 9999),
        ("solana", "\0" * 88),
    ],
)
def test_anything_else_is_no_signature(family: str, given: str) -> None:
    with pytest.raises(SignatureError):
        family_of(family).normalise_signature(given)
