"""Accounts that a Solana transaction names through a lookup table count.

A transaction of version 1 is read like the older ones. A transaction with a newer version can't be read.
"""

from collections.abc import Callable, Sequence
from typing import Any

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.instruction import Instruction
from solders.message import MessageV0
from solders.transaction import VersionedTransaction

from chains.families import get_client
from chains.families.solana.references import reference_key
from chains.models import Chain, Token
from demo.solana import ledger as node_of
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.fault_proxy import Exchange, Fault, proxying
from tests.support.payments.world import Clock, look, look_until_decided, make_request, submit
from tests.support.solana.actions import make_table
from tests.support.solana.ledger import LocalLedger, new_address, token_account
from tests.support.solana.world import built_for, decide

Status = PaymentRequest.Status
Change = Callable[[dict[str, Any]], dict[str, Any]]


def send_with_table(
    ledger: LocalLedger, instructions: Sequence[Instruction], table: AddressLookupTableAccount
) -> str:
    blockhash = node_of.latest_blockhash(ledger.url)
    message = MessageV0.try_compile(ledger.key.pubkey(), list(instructions), [table], blockhash)
    assert message.address_table_lookups
    assert not set(message.account_keys) & set(table.addresses)
    return node_of.send_signed(ledger.url, VersionedTransaction(message, [ledger.key]))


def test_payment_named_only_by_a_lookup_table_counts(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    request = make_request(merchant, solana_usdc, "2", new_address())
    recipient, reference = request.recipient_address, bytes(request.reference)
    addresses = [str(token_account(recipient)), local_ledger.usdc, reference_key(reference)]
    table = make_table(local_ledger, addresses)
    [create, move] = local_ledger.token_move(recipient, 2_000_000, reference)
    local_ledger.send([create])
    payment = decide(local_ledger, request, send_with_table(local_ledger, [move], table))
    request.refresh_from_db()
    assert (request.status, payment.bound_by, payment.from_address) == (
        Status.COMPLETED,
        "reference",
        local_ledger.payer,
    )


def replaced(change: Change, signature: str) -> Fault:
    """Forward everything, but change the response about one transaction."""

    def reply(exchange: Exchange) -> None:
        exchange.reply(
            [
                change(truth)
                if question["method"] == "getTransaction" and question["params"][0] == signature
                else truth
                for question, truth in zip(exchange.questions, exchange.truth(), strict=True)
            ]
        )

    return reply


def unsupported(truth: dict[str, Any]) -> dict[str, Any]:
    """The error for a version above the requested one."""
    message = "Transaction version (2) is not supported by the requesting client."
    return {"jsonrpc": "2.0", "id": truth["id"], "error": {"code": -32015, "message": message}}


def in_version_1(truth: dict[str, Any]) -> dict[str, Any]:
    """The same transaction as a node shows it in version 1: without lookup tables, and with its budget's settings."""
    result = truth["result"]
    meta = {name: value for name, value in result["meta"].items() if name != "loadedAddresses"}
    message = dict(result["transaction"]["message"])
    message.pop("addressTableLookups", None)
    limits = {"computeUnitLimit": 200_000, "heapSize": None, "loadedAccountsDataSizeLimit": None}
    message["transactionConfig"] = {**limits, "priorityFee": None}
    transaction = {**result["transaction"], "message": message}
    return {**truth, "result": {**result, "version": 1, "meta": meta, "transaction": transaction}}


def showing_version_1(exchange: Exchange) -> None:
    """Show each transaction in version 1 to clients that read this version, and to others an error."""
    exchange.reply(
        [
            truth
            if question["method"] != "getTransaction"
            else in_version_1(truth)
            if question["params"][1]["maxSupportedTransactionVersion"] >= 1
            else unsupported(truth)
            for question, truth in zip(exchange.questions, exchange.truth(), strict=True)
        ]
    )


def ownerless(truth: dict[str, Any]) -> dict[str, Any]:
    """A transaction from before 2021, when token balances did not name their owners."""
    meta = truth["result"]["meta"]
    balances = [{k: v for k, v in b.items() if k != "owner"} for b in meta["postTokenBalances"]]
    return {
        **truth,
        "result": {**truth["result"], "meta": {**meta, "postTokenBalances": balances}},
    }


def test_payment_of_version_1_counts_by_its_reference(
    merchant: Merchant, solana: Chain, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    request = make_request(merchant, solana_usdc, "1", new_address())
    sent = local_ledger.finalize(local_ledger.sign_and_send(built_for(request, local_ledger.payer)))
    with proxying(local_ledger.url) as node:
        Chain.objects.filter(pk=solana.pk).update(rpc_urls=[node.url])
        node.break_with(showing_version_1)
        payment = look_until_decided(submit(request, sent), Clock())
    request.refresh_from_db()
    assert (request.status, payment.status, payment.bound_by) == (
        Status.COMPLETED,
        Payment.Status.COMPLETED,
        "reference",
    )


def test_newer_version_is_unreadable_and_hides_no_other(solana: Chain, local_ledger: LocalLedger) -> None:
    newer, plain = (local_ledger.send(local_ledger.coin_move(new_address(), 10**9)) for _ in range(2))
    with proxying(local_ledger.url) as node:
        solana.rpc_urls = [node.url]
        node.break_with(replaced(unsupported, newer))
        snapshot = get_client(solana).look_up([newer, plain], with_finality=True)
    odd, read = snapshot.transactions[newer], snapshot.transactions[plain]
    assert odd is not None
    assert read is not None
    assert (odd.is_readable, odd.succeeded, odd.transfers) == (False, True, ())
    assert odd.block is not None
    assert read.is_readable
    assert [transfer.amount for transfer in read.transfers] == [10**9]
    assert snapshot.contradicted == frozenset()


def test_malformed_transaction_waits_and_delays_no_other(
    merchant: Merchant, solana: Chain, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    odd, plain = (make_request(merchant, solana_usdc, "1", new_address()) for _ in range(2))
    odd_one, plain_one = (
        local_ledger.finalize(local_ledger.sign_and_send(built_for(request, local_ledger.payer)))
        for request in (odd, plain)
    )
    with proxying(local_ledger.url) as node:
        Chain.objects.filter(pk=solana.pk).update(rpc_urls=[node.url])
        node.break_with(replaced(ownerless, odd_one))
        waiting, paid = submit(odd, odd_one), submit(plain, plain_one)
        clock = Clock()
        look(clock)
        paid.refresh_from_db()
        waiting.refresh_from_db()
        assert paid.status == Payment.Status.COMPLETED
        assert (waiting.status, waiting.attempts) == (Payment.Status.PROCESSING, 0)
        assert "in an unknown form" in waiting.status_detail

        node.heal()
        clock.forward(minutes=5)
        look_until_decided(waiting, clock)
    odd.refresh_from_db()
    assert odd.status == Status.COMPLETED


def test_transaction_that_stays_malformed_is_not_verifiable(
    merchant: Merchant, solana: Chain, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    request = make_request(merchant, solana_usdc, "1", new_address())
    sent = local_ledger.finalize(local_ledger.sign_and_send(built_for(request, local_ledger.payer)))
    with proxying(local_ledger.url) as node:
        Chain.objects.filter(pk=solana.pk).update(rpc_urls=[node.url])
        node.break_with(replaced(ownerless, sent))
        payment = look_until_decided(submit(request, sent), Clock())
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "not_verifiable")
    assert payment.retries_left == 3
    request.refresh_from_db()
    assert request.amount_paid == 0
