"""One of three Solana nodes decides nothing if it lies about balances, lags or can't read a transaction."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.fault_proxy import Exchange, Fault, FaultProxy, forged, proxying, server_error
from tests.support.payments.world import Clock, look, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address

Status = PaymentRequest.Status


@pytest.fixture
def nodes(solana: Chain, local_ledger: LocalLedger) -> Iterator[list[FaultProxy]]:
    """Three nodes of the chain. Tests can set faults on each."""
    with ExitStack() as stack:
        three = [stack.enter_context(proxying(local_ledger.url)) for _ in range(3)]
        Chain.objects.filter(pk=solana.pk).update(
            rpc_urls=[node.url for node in three], confirmations="confirmed"
        )
        solana.refresh_from_db()
        yield three


def with_meta(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    return forged(
        "getTransaction", lambda result: {**result, "meta": {**result["meta"], **change(result["meta"])}}
    )


def tenfold(meta: dict[str, Any]) -> dict[str, Any]:
    return {
        "postTokenBalances": [
            {
                **balance,
                "uiTokenAmount": {
                    **balance["uiTokenAmount"],
                    "amount": balance["uiTokenAmount"]["amount"] + "0",
                },
            }
            for balance in meta["postTokenBalances"]
        ]
    }


def unsupported(exchange: Exchange) -> None:
    error = {"code": -32015, "message": "Transaction version (2) is not supported"}
    exchange.reply(
        [
            {"jsonrpc": "2.0", "id": truth["id"], "error": error}
            if question["method"] == "getTransaction"
            else truth
            for question, truth in zip(exchange.questions, exchange.truth(), strict=True)
        ]
    )


FAULTS: dict[str, Fault] = {
    "ten times as much": with_meta(tenfold),
    "an error that is none": with_meta(lambda _: {"err": {"InstructionError": [0, "Custom"]}}),
    "another slot": forged("getTransaction", lambda result: {**result, "slot": result["slot"] + 1}),
    "an old block": forged("getBlockTime", lambda _: 1),
    "an unknown version": unsupported,
    "500": server_error,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_one_faulty_node_of_three_changes_nothing(
    nodes: list[FaultProxy],
    merchant: Merchant,
    solana_usdc: Token,
    local_ledger: LocalLedger,
    fault: Fault,
) -> None:
    request = make_request(merchant, solana_usdc, "2", new_address())
    move = local_ledger.token_move(request.recipient_address, 2_000_000, bytes(request.reference))
    signature = local_ledger.send(move)
    nodes[0].break_with(fault)
    look_until_decided(submit(request, signature), Clock())
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, 2_000_000)


def with_status(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Fault:
    return forged(
        "getSignatureStatuses",
        lambda result: {**result, "value": [status and change(status) for status in result["value"]]},
    )


NO_VERDICTS: dict[str, Fault] = {
    "no balances before": with_meta(lambda _: {"preTokenBalances": None}),
    "no balances after": with_meta(lambda _: {"postTokenBalances": None}),
    "a failure that the status denies": with_meta(lambda _: {"err": {"InstructionError": [0, "Custom"]}}),
    "a success that the status denies": with_status(lambda status: {**status, "err": "AccountInUse"}),
    "a status without a result": with_status(
        lambda status: {name: value for name, value in status.items() if name != "err"}
    ),
}


@pytest.mark.parametrize("fault", NO_VERDICTS.values(), ids=NO_VERDICTS.keys())
def test_incomplete_or_contradictory_node_decides_nothing(
    solana: Chain, merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, fault: Fault
) -> None:
    request = make_request(merchant, solana_usdc, "2", new_address())
    move = local_ledger.token_move(request.recipient_address, 2_000_000, bytes(request.reference))
    signature = local_ledger.finalize(local_ledger.send(move))
    with proxying(local_ledger.url) as node:
        Chain.objects.filter(pk=solana.pk).update(rpc_urls=[node.url])
        node.break_with(fault)
        payment, clock = submit(request, signature), Clock()
        look(clock)
        payment.refresh_from_db()
        assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 0)
        assert payment.unanswered_looks == 1
        node.heal()
        clock.forward(minutes=5)
        look_until_decided(payment, clock)
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, 2_000_000)
