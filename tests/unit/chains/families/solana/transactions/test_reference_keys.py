"""A reference converts to a key and back. No other key is a reference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.keypair import Keypair

from chains.families.solana.references import reference_key, reference_of


@given(st.binary(min_size=16, max_size=16))
def test_reference_survives_the_way_to_a_key_and_back(reference: bytes) -> None:
    assert reference_of(reference_key(reference)) == reference


def test_another_key_has_no_reference() -> None:
    assert all(reference_of(str(Keypair().pubkey())) is None for _ in range(100))
    assert reference_of("not a key") is None


@pytest.mark.parametrize("length", [0, 15, 17, 32])
def test_reference_of_another_length_is_rejected(length: int) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        reference_key(bytes(length))
