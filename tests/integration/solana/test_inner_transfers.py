"""Only a read-only key on the transfer itself is a reference. Without inner instructions, nothing is decided."""

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
def transaction(local_ledger: LocalLedger, reference: bytes) -> dict[str, Any]:
    """A token payment with a reference. The first instruction creates the account, the second one pays."""
    signature = local_ledger.send(local_ledger.token_move(new_address(), 5, reference))
    return dict(local_ledger.rpc("getTransaction", signature, OPTIONS))


def moved(transaction: dict[str, Any]) -> Transfer:
    [transfer] = [transfer for transfer in transfers(read_entry(transaction)) if transfer.token]
    assert transfer.amount == 5
    return transfer


def found(transaction: dict[str, Any]) -> tuple[bytes, ...]:
    return moved(transaction).references


def test_missing_inner_instructions_are_not_verifiable(
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


def test_reference_on_another_instruction_is_ignored(transaction: dict[str, Any]) -> None:
    create, transfer = transaction["transaction"]["message"]["instructions"]
    create["accounts"].append(transfer["accounts"].pop())
    assert found(transaction) == ()


@pytest.mark.parametrize("header", ["numReadonlyUnsignedAccounts", "numRequiredSignatures"])
def test_signing_or_writable_key_is_no_reference(
    transaction: dict[str, Any], reference: bytes, header: str
) -> None:
    message = transaction["transaction"]["message"]
    place = message["accountKeys"].index(reference_key(reference))
    if header == "numRequiredSignatures":
        message["header"][header] = place + 1
        message["header"]["numReadonlyUnsignedAccounts"] = len(message["accountKeys"]) - place - 1
    else:
        message["header"][header] = len(message["accountKeys"]) - place - 1
    assert found(transaction) == ()
