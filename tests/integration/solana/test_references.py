"""A reference binds the transfers that have it."""

import os

from chains.client import Watch
from chains.families import get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.support.payments.world import make_request
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.world import decide

Status = PaymentRequest.Status


def references_on(chain: Chain, signature: str, owner: str) -> list[tuple[str, int, tuple[bytes, ...]]]:
    facts = get_client(chain).look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    return [(t.token, t.amount, t.references) for t in facts.transfers if t.recipient == owner]


def test_each_reference_is_on_its_own_transfer(
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


def test_reference_decides_between_requests_of_one_wallet(
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


def test_more_than_thousand_references_are_searched_in_turns(
    solana: Chain, local_ledger: LocalLedger
) -> None:
    owner, last = new_address(), os.urandom(16)
    signature = local_ledger.send(local_ledger.token_move(owner, 5, last))
    references = [*(os.urandom(16) for _ in range(1000)), last]
    watches = [Watch(reference, local_ledger.usdc, owner) for reference in references]
    first = get_client(solana).discover(watches, since_block=None)
    second = get_client(solana).discover(watches, since_block=first.next_block)
    assert (first.found, first.next_block) == ((), 1000)
    assert (second.found, second.next_block) == (((last, signature),), 0)
