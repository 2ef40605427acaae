"""An address has one canonical form. Addresses with typing errors or without an owner are rejected."""

from collections.abc import Callable
from typing import Any

import pytest

from chains.families import AddressError, family_of
from payments.models import PaymentRequest
from tests.conftest import Api

# The examples from EIP-55.
CHECKSUMMED = [
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
]
BASE = CHECKSUMMED[0]
LETTERS = [index for index, character in enumerate(BASE) if index > 1 and character.isalpha()]
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"

# The complete table for the API is in tests/support/api/corpora/addresses.txt.
NOT_EVM = [
    "", "0x", BASE[2:], BASE[:-1], BASE + "00", "0X" + BASE[2:], " " + BASE, BASE + "\n", BASE + "\x00",
    "\u202e" + BASE, BASE.replace("A", "А", 1), BASE.replace("5", "５", 1), BASE.replace("3", "٣", 1),
    BASE.replace("0x", "0х"), BASE.replace("5", "g", 1), "ethereum:" + BASE, "vitalik.eth", MINT,
    "0x" + "0" * 24 + BASE[2:],
]  # fmt: skip
NOBODYS = [
    "0x" + "0" * 40,
    "0x" + "0" * 39 + "1",
    "0x" + "0" * 39 + "9",
    "0x" + "0" * 37 + "100",
    "0x" + "0" * 37 + "1ff",
]
NOT_SOLANA = [
    "", "1" * 31, "1" * 33, "z" * 44, MINT[:-2], MINT + "1", MINT + "\n", " " + MINT, "0" + MINT[1:], "l" + MINT[1:],
    MINT.replace("E", "Е", 1), MINT.replace("1", "１", 1), BASE, "💎" * 10, "1" * 10_000, "solana:" + MINT,
]  # fmt: skip


@pytest.mark.parametrize("address", CHECKSUMMED)
def test_an_address_is_the_same_in_each_permitted_case(address: str) -> None:
    assert {
        family_of("evm").normalise_address(text)
        for text in (address, "0x" + address[2:].lower(), "0x" + address[2:].upper())
    } == {address}


@pytest.mark.parametrize("index", LETTERS)
def test_one_letter_in_the_wrong_case_breaks_the_checksum(index: int) -> None:
    with pytest.raises(AddressError, match="EIP-55"):
        family_of("evm").normalise_address(BASE[:index] + BASE[index].swapcase() + BASE[index + 1 :])


@pytest.mark.parametrize("index", range(2, 42))
def test_one_mistyped_digit_breaks_the_checksum(index: int) -> None:
    other = "1" if BASE[index] != "1" else "2"
    with pytest.raises(AddressError, match="EIP-55"):
        family_of("evm").normalise_address(BASE[:index] + other + BASE[index + 1 :])


@pytest.mark.parametrize("text", NOT_EVM, ids=ascii)
def test_malformed_evm_address_is_rejected(text: str) -> None:
    with pytest.raises(AddressError):
        family_of("evm").normalise_address(text)


@pytest.mark.parametrize("text", NOBODYS)
def test_zero_address_and_precompiles_are_no_recipients(text: str) -> None:
    with pytest.raises(AddressError, match="no owner"):
        family_of("evm").normalise_address(text)


@pytest.mark.parametrize("text", NOT_SOLANA, ids=lambda text: ascii(text)[:60])
def test_malformed_solana_address_is_rejected(text: str) -> None:
    with pytest.raises(AddressError):
        family_of("solana").normalise_address(text)


def test_a_solana_address_keeps_its_case() -> None:
    assert family_of("solana").normalise_address(MINT) == MINT


def test_solana_system_program_is_no_wallet() -> None:
    with pytest.raises(AddressError, match="System Program"):
        family_of("solana").normalise_address("1" * 32)


def test_a_recipient_is_stored_with_its_checksum(api: Api, order: Callable[..., dict[str, Any]]) -> None:
    created = api.post("/api/payment-requests", order(recipient_address=BASE.lower()))
    assert created.json()["recipient_address"] == PaymentRequest.objects.get().recipient_address == BASE
