"""A transfer that a program makes within its own instruction counts and carries references, as an outer one does."""

import copy
import os
from typing import Any

import pytest

from chains.clients.solana_references import reference_key
from chains.clients.solana_transfers import read_entry, transfers
from tests.solana.ledger import LocalLedger, new_address

OPTIONS = {"encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed"}


@pytest.fixture
def reference() -> bytes:
    return os.urandom(16)


@pytest.fixture
def answer(local_ledger: LocalLedger, reference: bytes) -> dict[str, Any]:
    """A token payment with a reference, as the node tells it: first the account is made, then the money moves."""
    signature = local_ledger.send(local_ledger.token_move(new_address(), 5, reference))
    return dict(local_ledger.rpc("getTransaction", signature, OPTIONS))


def found(answer: dict[str, Any]) -> tuple[bytes, ...]:
    [moved] = [transfer for transfer in transfers(read_entry(answer)) if transfer.token]
    assert moved.amount == 5
    return moved.references


def test_a_transfer_inside_another_instruction_carries_its_reference(
    answer: dict[str, Any], reference: bytes
) -> None:
    assert found(answer) == (reference,)
    inside = copy.deepcopy(answer)
    transfer = inside["transaction"]["message"]["instructions"].pop()
    inside["meta"]["innerInstructions"].append({"index": 0, "instructions": [{**transfer, "stackHeight": 2}]})
    assert found(inside) == (reference,)


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


def test_the_last_owner_counts_whoever_held_the_account_before(answer: dict[str, Any]) -> None:
    heir = new_address()
    [receiving] = [
        balance
        for balance in answer["meta"]["postTokenBalances"]
        if balance["uiTokenAmount"]["amount"] == "5"
    ]
    receiving["owner"] = heir
    [moved] = [transfer for transfer in transfers(read_entry(answer)) if transfer.token]
    assert (moved.recipient, moved.amount) == (heir, 5)


def test_nobody_is_named_as_sender_where_several_lost_money(answer: dict[str, Any]) -> None:
    [paying] = [
        balance for balance in answer["meta"]["preTokenBalances"] if balance["uiTokenAmount"]["amount"] != "0"
    ]
    [transfer] = [transfer for transfer in transfers(read_entry(answer)) if transfer.token]
    assert transfer.sender == paying["owner"]
    other = {**paying, "accountIndex": 0, "owner": new_address()}
    answer["meta"]["preTokenBalances"].append(other)
    [transfer] = [transfer for transfer in transfers(read_entry(answer)) if transfer.token]
    assert transfer.sender == ""
