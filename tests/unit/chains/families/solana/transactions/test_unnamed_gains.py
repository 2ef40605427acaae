"""Lamports that arrive without a transfer instruction are reported once. No reference claims them."""

import os
import struct

from chains.families.solana.accounts import WRAPPED_SOL
from chains.families.solana.transactions.entries import read_entry
from chains.families.solana.transactions.transfers import transfers
from tests.support.solana.answers import TOKEN, Call, Ledger, address, closed, coins, program

SOL = 10**9


def balanced(before_and_after: dict[str, tuple[int, int]]) -> tuple[Ledger, str]:
    """Return a ledger and its first signer, who pays for the transaction."""
    customer = address()
    return Ledger([customer], lamports={customer: (SOL, SOL), **before_and_after}), customer


def test_payment_beside_an_unnamed_gain_counts_in_full() -> None:
    merchant, vault, reference = address(), address(), os.urandom(16)
    ledger, customer = balanced({merchant: (0, 15), vault: (5, 0)})
    ledger.lamports[customer] = SOL, SOL - 10
    found = ledger.transfers(
        coins(customer, merchant, 10, reference), Call(program(), [vault, merchant], b"")
    )
    assert [(t.amount, t.claimable, t.sender) for t in found] == [(10, 10, customer), (5, 0, "")]


def test_gain_is_not_unnamed_without_inner_instructions() -> None:
    merchant, vault = address(), address()
    ledger, _ = balanced({merchant: (0, 5), vault: (5, 0)})
    transaction = ledger.answer(Call(program(), [vault, merchant], b""))
    transaction["meta"]["innerInstructions"] = None
    assert transfers(read_entry(transaction)) == ()


def test_partly_unwrapped_and_closed_account_is_not_unnamed() -> None:
    merchant, account = address(), address()
    ledger, customer = balanced({merchant: (0, 30), account: (30, 0)})
    ledger.has(account, WRAPPED_SOL, (customer, 28), (customer, None))
    part = Call(TOKEN, [account, merchant, customer], b"\x2d\x01" + struct.pack("<Q", 8))
    found = ledger.transfers(part, closed(account, merchant, customer))
    assert [(t.slot, t.amount, t.sender, t.claimable) for t in found] == [
        ("0", 8, customer, 0),
        ("1", 22, customer, 0),
    ]
