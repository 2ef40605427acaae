"""Base58 of any length is decoded to the same bytes. Other text is rejected."""

import pytest

from chains.families.solana.results import base58_data
from chains.families.solana.transactions.entries import read_entry
from tests.support.solana.answers import Call, Ledger, address, base58, program


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 14, 15, 64, 1_232, 4_096])
def test_base58_is_read_whatever_its_length(length: int) -> None:
    data = bytes(length // 3) + b"\xfe" * (length - length // 3)
    assert base58_data(base58(data)) == data
    assert base58_data(base58(data) + "0") is None


def test_instruction_of_4000_bytes_is_read() -> None:
    data = b"\xff" * 4_000
    entry = read_entry(Ledger([address()]).answer(Call(program(), [], data)))
    assert [instruction.data for instruction in entry.instructions] == [data]
