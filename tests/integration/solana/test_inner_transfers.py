"""A transfer that a program makes within its own instruction is reported, and no reference or proof claims it."""

import copy
import os
from typing import Any

import pytest

from chains.client import Transfer
from chains.families.solana.references import reference_key
from chains.families.solana.transactions.transfers import read_entry, transfers
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment
from tests.fault_proxy import forged, proxying
from tests.support.payments.world import Clock, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address, token_account
from tests.support.solana.programs import smuggled

OPTIONS = {"encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed"}


@pytest.fixture
def reference() -> bytes:
    return os.urandom(16)


@pytest.fixture
def answer(local_ledger: LocalLedger, reference: bytes) -> dict[str, Any]:
    """A token payment with a reference, as the node tells it: first the account is made, then the money moves."""
    signature = local_ledger.send(local_ledger.token_move(new_address(), 5, reference))
    return dict(local_ledger.rpc("getTransaction", signature, OPTIONS))


def moved(answer: dict[str, Any]) -> Transfer:
    [transfer] = [transfer for transfer in transfers(read_entry(answer)) if transfer.token]
    assert transfer.amount == 5
    return transfer


def found(answer: dict[str, Any]) -> tuple[bytes, ...]:
    return moved(answer).references


def test_a_transfer_inside_another_instruction_is_reported_and_claimed_by_no_one(
    answer: dict[str, Any], reference: bytes, local_ledger: LocalLedger
) -> None:
    outer = moved(answer)
    assert (outer.slot, outer.references, outer.claimable) == ("1", (reference,), 5)
    assert outer.made_by == outer.sender == local_ledger.payer
    inside = copy.deepcopy(answer)
    transfer = inside["transaction"]["message"]["instructions"].pop()
    inside["meta"]["innerInstructions"][0]["instructions"].append({**transfer, "stackHeight": 2})
    inner = moved(inside)
    assert inner.slot == f"0.{len(inside['meta']['innerInstructions'][0]['instructions']) - 1}"
    assert (inner.references, inner.claimable, inner.made_by) == ((), 0, "")
    assert (inner.sender, inner.gain, inner.account) == (local_ledger.payer, 5, outer.account)


def test_money_in_inner_instructions_that_the_node_does_not_record_is_not_verifiable(
    solana: Chain, merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    recipient = str(local_ledger.new_wallet(usdc=3).pubkey())
    request = make_request(merchant, solana_usdc, "2", recipient)
    [move] = local_ledger.token_move(recipient, 2_000_000, to_account=token_account(recipient))
    signature = local_ledger.finalize(local_ledger.send([smuggled(local_ledger, move, b"pay")]))
    with proxying(local_ledger.url) as node:
        Chain.objects.filter(pk=solana.pk).update(rpc_urls=[node.url])
        node.break_with(
            forged(
                "getTransaction",
                lambda result: {**result, "meta": {**result["meta"], "innerInstructions": None}},
            )
        )
        payment = look_until_decided(submit(request, signature), Clock())
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "not_verifiable")
    assert payment.is_retryable
    assert ConsumedTransfer.objects.count() == 0


def test_a_reference_on_another_instruction_does_not_count(answer: dict[str, Any]) -> None:
    create, transfer = answer["transaction"]["message"]["instructions"]
    create["accounts"].append(transfer["accounts"].pop())
    assert found(answer) == ()


@pytest.mark.parametrize("header", ["numReadonlyUnsignedAccounts", "numRequiredSignatures"])
def test_a_key_that_signs_or_can_be_written_to_is_no_reference(
    answer: dict[str, Any], reference: bytes, header: str
) -> None:
    message = answer["transaction"]["message"]
    place = message["accountKeys"].index(reference_key(reference))
    if header == "numRequiredSignatures":
        message["header"][header] = place + 1
        message["header"]["numReadonlyUnsignedAccounts"] = len(message["accountKeys"]) - place - 1
    else:
        message["header"][header] = len(message["accountKeys"]) - place - 1
    assert found(answer) == ()


def test_the_last_owner_is_the_recipient_and_claims_nothing_of_anothers_account(
    answer: dict[str, Any],
) -> None:
    heir = new_address()
    [receiving] = [
        balance
        for balance in answer["meta"]["postTokenBalances"]
        if balance["uiTokenAmount"]["amount"] == "5"
    ]
    receiving["owner"] = heir
    assert (moved(answer).recipient, moved(answer).claimable) == (heir, 0)


def test_the_sender_is_the_owner_of_the_account_that_was_taken_from(answer: dict[str, Any]) -> None:
    [paying] = [
        balance for balance in answer["meta"]["preTokenBalances"] if balance["uiTokenAmount"]["amount"] != "0"
    ]
    other = {**paying, "accountIndex": 0, "owner": new_address()}
    answer["meta"]["preTokenBalances"].append(other)
    assert moved(answer).sender == paying["owner"]
