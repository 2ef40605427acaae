"""A reference is a key like no other, and binds the transfers that carry it; two on one transfer bind neither."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.keypair import Keypair

from chains.client import Watch
from chains.families import get_client
from chains.families.solana.references import reference_key, reference_of
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, PaymentRequest
from tests.support.payments.world import Clock, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.world import decide

Status = PaymentRequest.Status


@given(st.binary(min_size=16, max_size=16))
def test_a_key_carries_its_reference_and_back(reference: bytes) -> None:
    assert reference_of(reference_key(reference)) == reference


def test_another_key_carries_none() -> None:
    assert all(reference_of(str(Keypair().pubkey())) is None for _ in range(100))
    assert reference_of("not a key") is None


@pytest.mark.parametrize("length", [0, 15, 17, 32])
def test_a_reference_has_sixteen_bytes(length: int) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        reference_key(bytes(length))


def references_on(chain: Chain, signature: str, owner: str) -> list[tuple[str, int, tuple[bytes, ...]]]:
    facts = get_client(chain).look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    return [(t.token, t.amount, t.references) for t in facts.transfers if t.recipient == owner]


def test_each_is_found_on_the_transfer_that_it_rides_on(
    solana: Chain, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    owner, one, two, three = new_address(), *(os.urandom(16) for _ in range(3))
    move = [
        *local_ledger.token_move(owner, 5, one),
        *local_ledger.token_move(owner, 6, two, one),
        *local_ledger.coin_move(owner, 10**9, three),
    ]
    signature = local_ledger.send(move)
    found = references_on(solana, signature, owner)
    assert found == [
        (local_ledger.usdc, 5, (one,)),
        (local_ledger.usdc, 6, (two, one)),
        ("", 10**9, (three,)),
    ]


def test_one_on_anothers_transfer_is_not_the_recipients(
    solana: Chain, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    owner, reference = new_address(), os.urandom(16)
    move = [
        *local_ledger.token_move(owner, 5),
        *local_ledger.token_move(new_address(), 5, reference),
        *local_ledger.coin_move(owner, 10**9),
    ]
    found = references_on(solana, local_ledger.send(move), owner)
    assert found == [(local_ledger.usdc, 5, ()), ("", 10**9, ())]


def test_two_requests_references_on_one_transfer_credit_neither(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    owner = new_address()
    requests = [make_request(merchant, solana_usdc, "2", owner) for _ in range(2)]
    one, two = (bytes(request.reference) for request in requests)
    signature = local_ledger.send(local_ledger.token_move(owner, 2_000_000, one, two))
    codes = [decide(local_ledger, request, signature).failure_code for request in requests]
    assert codes == ["transaction_ambiguous"] * 2
    assert ConsumedTransfer.objects.count() == 0
    for request in requests:
        request.refresh_from_db()
        assert (request.status, request.amount_paid) == (Status.ACTIVE, 0)


def test_two_requests_of_one_owner_are_each_credited_by_the_transfer_with_their_reference(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    owner = new_address()
    requests = [make_request(merchant, solana_usdc, "2", owner) for _ in range(2)]
    one, two = (bytes(request.reference) for request in requests)
    move = [*local_ledger.token_move(owner, 2_000_000, one), *local_ledger.token_move(owner, 1, two)]
    signature = local_ledger.send(move)
    for request in requests:
        decide(local_ledger, request, signature)
        request.refresh_from_db()
    paid = [(request.status, request.amount_paid) for request in requests]
    assert paid == [(Status.COMPLETED, 2_000_000), (Status.ACTIVE, 1)]


def test_two_owners_in_one_transaction_are_each_credited_by_their_own(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    requests = [make_request(merchant, solana_usdc, "2", new_address()) for _ in range(2)]
    move = [
        instruction
        for request in requests
        for instruction in local_ledger.token_move(
            request.recipient_address, 2_000_000, bytes(request.reference)
        )
    ]
    signature = local_ledger.finalize(local_ledger.send(move))
    payments = [submit(request, signature) for request in requests]
    for request, payment in zip(requests, payments, strict=True):
        look_until_decided(payment, Clock())
        request.refresh_from_db()
        assert request.status == Status.COMPLETED
    assert ConsumedTransfer.objects.count() == 2


def test_many_are_searched_for_in_few_round_trips_and_failed_ones_are_left_out(
    solana: Chain, local_ledger: LocalLedger
) -> None:
    owner, paid, failed = new_address(), os.urandom(16), os.urandom(16)
    signature = local_ledger.send(local_ledger.token_move(owner, 5, paid))
    local_ledger.send_failing(local_ledger.token_move(owner, 2**63, failed))
    others = [os.urandom(16) for _ in range(98)]
    watches = [Watch(reference, local_ledger.usdc, owner) for reference in (paid, failed, *others)]
    discovery = get_client(solana).discover(watches, since_block=None)
    assert (discovery.found, discovery.next_block) == (((paid, signature),), 0)


def test_of_more_than_a_thousand_each_has_its_turn(solana: Chain, local_ledger: LocalLedger) -> None:
    owner, last = new_address(), os.urandom(16)
    signature = local_ledger.send(local_ledger.token_move(owner, 5, last))
    references = [*(os.urandom(16) for _ in range(1000)), last]
    watches = [Watch(reference, local_ledger.usdc, owner) for reference in references]
    first = get_client(solana).discover(watches, since_block=None)
    second = get_client(solana).discover(watches, since_block=first.next_block)
    assert (first.found, first.next_block) == ((), 1000)
    assert (second.found, second.next_block) == (((last, signature),), 0)
