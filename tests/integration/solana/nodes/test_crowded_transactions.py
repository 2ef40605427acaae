"""A transaction with thousands of transfers can't be verified.

Customers never send one, and it delays no other payment.
"""

import struct
from typing import Any

from chains.client import Watch
from chains.families.solana.client import SolanaClient
from chains.families.solana.discovery import pays
from chains.families.solana.transactions.entries import read_entry
from chains.families.solana.transactions.moves import MAX_MOVES, is_crowded
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.fault_proxy import forged, proxying
from tests.support.payments.world import Clock, look_until_decided, make_request, submit
from tests.support.solana.answers import TOKEN, Call, Ledger, address, program
from tests.support.solana.ledger import LocalLedger, new_address

_IN_A_BATCH = 85  # limited by the 255 accounts of an instruction


def crowded(calls: int, in_each: int = _IN_A_BATCH) -> dict[str, Any]:
    """Return a node's response for several calls of SPL Token's Batch, each with `in_each` transfers of 1."""
    thief, recipient, mint = address(), address(), address()
    ledger = Ledger([thief])
    source = ledger.holds(thief, mint, 10_000, 10_000 - calls * in_each)
    target = ledger.holds(recipient, mint, 0, calls * in_each)
    part = bytes([3, 9]) + b"\x03" + struct.pack("<Q", 1)
    batch = Call(TOKEN, [source, target, thief] * in_each, b"\xff" + part * in_each)
    return ledger.answer(Call(program(), [thief], b"", [(batch, 2)] * calls))


def test_transaction_with_thousands_of_moves_is_not_verifiable(
    solana: Chain, merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    odd = local_ledger.finalize(local_ledger.send(local_ledger.coin_move(new_address(), 10**9)))
    request = make_request(merchant, solana_usdc, "2", new_address())
    move = local_ledger.token_move(request.recipient_address, 2_000_000, bytes(request.reference))
    paid, answer = local_ledger.finalize(local_ledger.send(move)), crowded(63)

    def grown(result: dict[str, Any]) -> dict[str, Any]:
        if result["transaction"]["signatures"] != [odd]:
            return result
        return {
            **answer,
            "slot": result["slot"],
            "transaction": {**answer["transaction"], "signatures": [odd]},
        }

    with proxying(local_ledger.url) as node:
        node.break_with(forged("getTransaction", grown))
        Chain.objects.filter(pk=solana.pk).update(rpc_urls=[node.url])
        client = SolanaClient([node.url], solana.id, solana.network)
        facts = client.look_up([odd], with_finality=True).transactions[odd]
        payment, junk, clock = submit(request, paid), submit(request, odd), Clock()
        look_until_decided(payment, clock)
        junk = look_until_decided(junk, clock)
    assert facts is not None
    assert not facts.is_readable
    assert not pays(facts, Watch(bytes(request.reference), solana_usdc.contract_address, new_address()))
    assert (junk.status, junk.failure_code) == (Payment.Status.FAILED, "not_verifiable")
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (PaymentRequest.Status.COMPLETED, 2_000_000)


def test_successful_transaction_may_have_a_thousand_moves() -> None:
    assert not is_crowded(read_entry(crowded(20, MAX_MOVES // 20)))
    answer = crowded(13, 77)
    assert is_crowded(read_entry(answer))
    answer["meta"]["err"] = {"InstructionError": [0, "Custom"]}
    assert not is_crowded(read_entry(answer))
