"""A transaction hash is stored in one canonical form, in whichever form it was pasted."""

import pytest

from chains.families import HashError, family_of

DIGITS = "88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b"
HASH = "0x" + DIGITS
SIGNATURE = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"

SAME = [HASH, DIGITS, HASH.upper(), "0x" + DIGITS.upper(), "\r\n" + HASH + "\r\n", "\t" + DIGITS + "\t"]
NOT_EVM = [
    "", "0x", HASH[:-1], HASH + "0", "0x0x" + DIGITS, "00" + DIGITS, "0x" + DIGITS[:-1] + "g",
    HASH[:30] + "\n" + HASH[30:], HASH + "\x00", HASH + "\u00a0", HASH.replace("a", "а", 1), HASH.replace("8", "８", 1),
    "https://etherscan.io/tx/" + HASH, SIGNATURE, "-" + HASH,
]  # fmt: skip
NOT_SOLANA = [
    "", SIGNATURE[:-2], SIGNATURE + "1", "1" * 65, "z" * 88, "0" + SIGNATURE[1:], HASH, SIGNATURE.replace("E", "Е", 1),
    SIGNATURE + "\x00", "1" * 10_000, "💎" * 20,
]  # fmt: skip


@pytest.mark.parametrize("text", SAME, ids=ascii)
def test_every_way_to_write_an_evm_hash_is_one_hash(text: str) -> None:
    assert family_of("evm").normalise_transaction_hash(text) == HASH


@pytest.mark.parametrize("text", NOT_EVM, ids=ascii)
def test_malformed_evm_hash_is_rejected(text: str) -> None:
    with pytest.raises(HashError):
        family_of("evm").normalise_transaction_hash(text)


@pytest.mark.parametrize("text", [SIGNATURE, f" {SIGNATURE}\n"])
def test_a_solana_signature_keeps_its_case(text: str) -> None:
    assert family_of("solana").normalise_transaction_hash(text) == SIGNATURE


@pytest.mark.parametrize("text", NOT_SOLANA, ids=lambda text: ascii(text)[:60])
def test_malformed_solana_signature_is_rejected(text: str) -> None:
    with pytest.raises(HashError):
        family_of("solana").normalise_transaction_hash(text)
