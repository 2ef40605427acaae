"""Base58 of any length is decoded to the same bytes. Other text is rejected."""

import pytest

from chains.families.solana.results import base58_data
from tests.support.solana.answers import base58


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 14, 15, 64, 1_232])
def test_base58_is_read_whatever_its_length(length: int) -> None:
    data = bytes(length // 3) + b"\xfe" * (length - length // 3)
    assert base58_data(base58(data)) == data
    assert base58_data(base58(data) + "0") is None
