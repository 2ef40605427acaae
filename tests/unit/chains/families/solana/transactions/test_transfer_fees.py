"""A Token-2022 mint's fee can't be claimed, even if a delivery in the same transaction adds the same amount."""

import os
import struct
from typing import Any

import pytest
from solders.pubkey import Pubkey

from chains.client import ChainError
from chains.families.solana.accounts import TOKEN, TOKEN_2022, Account
from chains.families.solana.transactions.entries import Entry, read_entry
from chains.families.solana.transactions.fees import (
    FREE,
    GONE,
    EpochSchedule,
    Fees,
    MintFee,
    Rate,
    read_mint_fee,
)
from chains.families.solana.transactions.transfers import fee_mints
from tests.support.solana.answers import Call, Ledger, address, fee_move, minted, move

TENTH = MintFee(Rate(0, 2**64 - 1, 1000), Rate(0, 2**64 - 1, 1000))


def token_2022_payment(gained: int) -> tuple[Ledger, str, str, str, str, str]:
    """Return the ledger and the mint, and the customer and the merchant with their accounts."""
    mint, customer, merchant = (address() for _ in range(3))
    ledger = Ledger([customer], program=TOKEN_2022)
    source = ledger.holds(customer, mint, 100, 90)
    return ledger, mint, customer, merchant, source, ledger.holds(merchant, mint, 0, gained)


def test_fee_made_up_by_a_delivery_is_not_claimed() -> None:
    ledger, mint, customer, _, source, target = token_2022_payment(gained=10)
    bridge, reference = address(), os.urandom(16)
    paying = move(source, mint, target, customer, 10, reference, program=TOKEN_2022)
    refilling = Call(address(), [target], b"", [(minted(mint, target, bridge, 1, TOKEN_2022), 2)])
    found = ledger.transfers(paying, refilling, fees=Fees({mint: TENTH}, 5))
    assert [(t.amount, t.gain, t.claimable) for t in found] == [(9, 10, 9), (1, 10, 0)]


def test_fee_named_by_the_instruction_counts() -> None:
    ledger, mint, customer, _, source, target = token_2022_payment(gained=8)
    paying = fee_move(source, mint, target, customer, 10, 2)
    [paid] = ledger.transfers(paying)
    assert (paid.amount, paid.claimable) == (8, 8)
    assert fee_mints(_entry(ledger, paying)) == set()


def test_mint_with_unknown_fee_transfers_nothing() -> None:
    ledger, mint, customer, _, source, target = token_2022_payment(gained=10)
    paying = move(source, mint, target, customer, 10, program=TOKEN_2022)
    assert ledger.transfers(paying) == []
    assert fee_mints(_entry(ledger, paying)) == {mint}
    assert GONE.of(10, 5) == 10


def test_transfer_without_fee_is_capped_by_the_gain() -> None:
    ledger, mint, customer, _, source, target = token_2022_payment(gained=7)
    [paid] = ledger.transfers(
        move(source, mint, target, customer, 10, program=TOKEN_2022), fees=Fees({mint: FREE}, 5)
    )
    assert (paid.amount, paid.claimable) == (10, 7)


@pytest.mark.parametrize(
    ("epoch", "fee"),
    [
        (4, 20),  # starts before the older fee: either may have changed since
        (5, 10),
        (6, 10),
        (7, 20),
        (8, 20),
        (None, 20),
    ],
)
def test_fee_depends_on_the_epoch_of_the_transaction(epoch: int | None, fee: int) -> None:
    assert MintFee(Rate(5, 1000, 100), Rate(7, 1000, 200)).of(1000, epoch) == fee


@pytest.mark.parametrize(("amount", "fee"), [(0, 0), (1, 1), (99, 1), (100, 1), (101, 2), (10_000, 50)])
def test_fee_is_rounded_up_and_has_a_maximum(amount: int, fee: int) -> None:
    assert Rate(0, 50, 100).of(amount) == fee


def test_slots_are_counted_to_epochs() -> None:
    mainnet, young = EpochSchedule(432_000, 0, 0), EpochSchedule(8192, 524_256, 14)
    assert [mainnet.epoch_of(slot) for slot in (0, 431_999, 432_000)] == [0, 0, 1]
    assert [young.epoch_of(slot) for slot in (524_255, 524_256, 532_448)] == [None, 14, 15]


def mint_account(*extensions: tuple[int, bytes], owner: str = TOKEN_2022) -> Account:
    data = bytes(165) + b"\x01"
    for kind, content in extensions:
        data += struct.pack("<HH", kind, len(content)) + content
    return Account(1, owner, data, executable=False)


def fee_config(older: Rate, newer: Rate) -> bytes:
    rates = (struct.pack("<QQH", rate.epoch, rate.maximum, rate.basis_points) for rate in (older, newer))
    return bytes(72) + b"".join(rates)


def test_the_fee_is_read_from_the_mint() -> None:
    config = fee_config(Rate(1, 2, 3), Rate(4, 5, 6))
    other = (3, bytes(Pubkey.default()))
    for extensions in ([(1, config)], [other, (1, config)], [(1, config), other]):
        assert read_mint_fee(mint_account(*extensions)) == MintFee(Rate(1, 2, 3), Rate(4, 5, 6))
    assert read_mint_fee(mint_account(other)) == FREE
    assert read_mint_fee(Account(1, TOKEN_2022, bytes(82), executable=False)) == FREE
    assert read_mint_fee(None) == read_mint_fee(mint_account(owner=TOKEN)) == GONE
    with pytest.raises(ChainError):
        read_mint_fee(mint_account((1, config[:-1])))


def _entry(ledger: Ledger, *calls: Any) -> Entry:
    return read_entry(ledger.answer(*calls))
