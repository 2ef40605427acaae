"""The facts of a transaction include the top-level calls of the requested programs."""

import copy
from typing import Any

import pytest
from spl.token.constants import ASSOCIATED_TOKEN_PROGRAM_ID, TOKEN_PROGRAM_ID

from chains.client import ChainError, Mention
from chains.families import get_client
from chains.families.solana.transactions.transfers import mentions, read_entry
from chains.models import Chain
from tests.support.solana.actions import MEMO, memo
from tests.support.solana.ledger import LocalLedger, new_address

ROUTER = str(MEMO)
TRANSFER_CHECKED = 12
OPTIONS = {"encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed"}


def mentions_of(chain: Chain, signature: str, *programs: str) -> tuple[Mention, ...]:
    snapshot = get_client(chain).look_up([signature], with_finality=True, mentioning=programs)
    facts = snapshot.transactions[signature]
    assert facts is not None
    assert facts.block is not None
    return facts.mentions


def test_instructions_of_a_program_are_returned_in_order(solana: Chain, local_ledger: LocalLedger) -> None:
    moves = local_ledger.token_move(new_address(), 5)
    signature = local_ledger.send([memo("one id"), *moves, memo("another id")])
    assert mentions_of(solana, signature, ROUTER) == (
        Mention(ROUTER, b"one id"),
        Mention(ROUTER, b"another id"),
    )
    assert mentions_of(solana, signature) == ()
    assert mentions_of(solana, signature, new_address()) == ()


def test_inner_call_of_a_program_is_no_mention(solana: Chain, local_ledger: LocalLedger) -> None:
    signature = local_ledger.send(local_ledger.token_move(new_address(), 5))
    transaction = local_ledger.rpc("getTransaction", signature, OPTIONS)
    assert transaction["meta"]["innerInstructions"]  # inner calls create the token account
    [said] = mentions_of(solana, signature, str(TOKEN_PROGRAM_ID))
    assert said.data[0] == TRANSFER_CHECKED
    [made] = mentions_of(solana, signature, str(ASSOCIATED_TOKEN_PROGRAM_ID))
    assert made.data == b"\x01"


def test_impossible_instruction_data_is_malformed(local_ledger: LocalLedger) -> None:
    signature = local_ledger.send([memo("id")])
    transaction = local_ledger.rpc("getTransaction", signature, OPTIONS)
    assert mentions(read_entry(transaction), {ROUTER}) == (Mention(ROUTER, b"id"),)
    for junk in ("0", "l", "é", "2" * 5_601):
        changed: Any = copy.deepcopy(transaction)
        changed["transaction"]["message"]["instructions"][0]["data"] = junk
        with pytest.raises(ChainError):
            mentions(read_entry(changed), {ROUTER})
        assert mentions(read_entry(changed), set()) == ()


def test_failed_transaction_has_its_mentions(solana: Chain, local_ledger: LocalLedger) -> None:
    too_much = local_ledger.token_move(new_address(), 10**18)
    signature = local_ledger.send_failing([memo("an id"), *too_much])
    assert mentions_of(solana, signature, ROUTER) == (Mention(ROUTER, b"an id"),)
