"""What a Token-2022 mint keeps of a transfer is not claimed, even if a delivery beside it makes up for it."""

import os
import struct
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from solders.pubkey import Pubkey
from spl.token.constants import TOKEN_2022_PROGRAM_ID

from chains.client import ChainError
from chains.families.solana.accounts import TOKEN, TOKEN_2022, Account
from chains.families.solana.client import SolanaClient
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
from chains.models import Chain
from tests.fault_proxy import Exchange, Fault, forged, proxying
from tests.support.solana.accounts import make_fee_mint
from tests.support.solana.answers import Call, Ledger, address, fee_move, minted, move
from tests.support.solana.ledger import LocalLedger

TENTH = MintFee(Rate(0, 2**64 - 1, 1000), Rate(0, 2**64 - 1, 1000))


def token_2022_payment(gained: int) -> tuple[Ledger, str, str, str, str, str]:
    """Return the ledger, the mint, the customer and the merchant with their accounts."""
    mint, customer, merchant = (address() for _ in range(3))
    ledger = Ledger([customer], program=TOKEN_2022)
    source = ledger.holds(customer, mint, 100, 90)
    return ledger, mint, customer, merchant, source, ledger.holds(merchant, mint, 0, gained)


def test_a_fee_that_anothers_delivery_makes_up_for_is_not_claimed() -> None:
    ledger, mint, customer, _, source, target = token_2022_payment(gained=10)
    bridge, reference = address(), os.urandom(16)
    paying = move(source, mint, target, customer, 10, reference, program=TOKEN_2022)
    refilling = Call(address(), [target], b"", [(minted(mint, target, bridge, 1, TOKEN_2022), 2)])
    found = ledger.transfers(paying, refilling, fees=Fees({mint: TENTH}, 5))
    assert [(t.amount, t.gain, t.claimable) for t in found] == [(9, 10, 9), (1, 10, 0)]


def test_a_fee_that_the_instruction_names_is_that() -> None:
    ledger, mint, customer, _, source, target = token_2022_payment(gained=8)
    paying = fee_move(source, mint, target, customer, 10, 2)
    [paid] = ledger.transfers(paying)
    assert (paid.amount, paid.claimable) == (8, 8)
    assert fee_mints(_entry(ledger, paying)) == set()


def test_a_mint_whose_fee_is_not_known_brings_nothing() -> None:
    ledger, mint, customer, _, source, target = token_2022_payment(gained=10)
    paying = move(source, mint, target, customer, 10, program=TOKEN_2022)
    assert ledger.transfers(paying) == []
    assert fee_mints(_entry(ledger, paying)) == {mint}
    assert GONE.of(10, 5) == 10


def test_what_arrives_without_a_fee_is_capped_by_the_gain() -> None:
    ledger, mint, customer, _, source, target = token_2022_payment(gained=7)
    [paid] = ledger.transfers(
        move(source, mint, target, customer, 10, program=TOKEN_2022), fees=Fees({mint: FREE}, 5)
    )
    assert (paid.amount, paid.claimable) == (10, 7)


@pytest.mark.parametrize(
    ("epoch", "fee"),
    [
        (4, 20),  # before the older one: either may have been changed since
        (5, 10),
        (6, 10),
        (7, 20),
        (8, 20),
        (None, 20),
    ],
)
def test_the_fee_is_that_of_the_transactions_epoch(epoch: int | None, fee: int) -> None:
    assert MintFee(Rate(5, 1000, 100), Rate(7, 1000, 200)).of(1000, epoch) == fee


@pytest.mark.parametrize(("amount", "fee"), [(0, 0), (1, 1), (99, 1), (100, 1), (101, 2), (10_000, 50)])
def test_a_fee_is_rounded_up_and_has_a_maximum(amount: int, fee: int) -> None:
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


def test_a_mint_is_asked_for_once_a_minute_and_only_its_beginning(
    solana: Chain, local_ledger: LocalLedger
) -> None:
    token, recipient, clock = make_fee_mint(local_ledger, holder_units=10**9), address(), Clock()
    move = local_ledger.token_move(recipient, 1000, token=token, program=TOKEN_2022_PROGRAM_ID)
    signature = local_ledger.send(move)
    asked: list[str] = []
    with proxying(local_ledger.url) as node:
        node.break_with(_noting(asked))
        client = SolanaClient([node.url], solana.id, solana.network, clock=clock)
        for _ in range(2):
            assert _received(client, signature, recipient) == [990]
        assert [method for method in asked if method.startswith("getM")] == ["getMultipleAccounts"]
        clock.now += 61
        assert _received(client, signature, recipient) == [990]
    assert asked.count("getMultipleAccounts") == 2
    assert asked.count("getEpochSchedule") == 1


def test_without_the_mint_a_transaction_has_no_usable_answer_and_others_have(
    solana: Chain, local_ledger: LocalLedger
) -> None:
    token, recipient = make_fee_mint(local_ledger, holder_units=10**9), address()
    move = local_ledger.token_move(recipient, 1000, token=token, program=TOKEN_2022_PROGRAM_ID)
    odd, plain = local_ledger.send(move), local_ledger.send(local_ledger.token_move(recipient, 5))
    with proxying(local_ledger.url) as node:
        node.break_with(forged("getMultipleAccounts", lambda _: {"value": "nonsense"}))
        client = SolanaClient([node.url], solana.id, solana.network)
        snapshot = client.look_up([odd, plain], with_finality=True)
        assert snapshot.contradicted == {odd}
        facts = snapshot.transactions[plain]
        assert facts is not None
        assert [t.amount for t in facts.transfers if t.token] == [5]
        node.heal()
        assert _received(client, odd, recipient) == [990]


def test_nodes_agree_on_a_transfer_with_a_fee(solana: Chain, local_ledger: LocalLedger) -> None:
    token, recipient = make_fee_mint(local_ledger, holder_units=10**9), address()
    move = local_ledger.token_move(recipient, 1000, token=token, program=TOKEN_2022_PROGRAM_ID)
    signature = local_ledger.send(move)
    with ExitStack() as stack:
        nodes = [stack.enter_context(proxying(local_ledger.url)) for _ in range(3)]
        nodes[0].break_with(forged("getMultipleAccounts", lambda _: {"value": [None]}))
        client = SolanaClient([node.url for node in nodes], solana.id, solana.network)
        assert _received(client, signature, recipient) == [990]


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def _received(client: SolanaClient, signature: str, recipient: str) -> list[int]:
    facts = client.look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    return [t.amount for t in facts.transfers if t.recipient == recipient]


def _noting(asked: list[str]) -> Fault:
    def answer(exchange: Exchange) -> None:
        asked.extend(question["method"] for question in exchange.questions)
        exchange.reply(exchange.truth())

    return answer
