"""What a program was told by the transaction itself is among the facts, where it was asked for."""

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


def told(chain: Chain, signature: str, *programs: str) -> tuple[Mention, ...]:
    snapshot = get_client(chain).look_up([signature], with_finality=True, mentioning=programs)
    facts = snapshot.transactions[signature]
    assert facts is not None
    assert facts.block is not None
    return facts.mentions


def test_a_programs_instructions_are_told_in_order(solana: Chain, local_ledger: LocalLedger) -> None:
    moves = local_ledger.token_move(new_address(), 5)
    signature = local_ledger.send([memo("one id"), *moves, memo("another id")])
    assert told(solana, signature, ROUTER) == (Mention(ROUTER, b"one id"), Mention(ROUTER, b"another id"))
    assert told(solana, signature) == ()
    assert told(solana, signature, new_address()) == ()


def test_what_one_program_tells_another_is_not_the_payers_word(
    solana: Chain, local_ledger: LocalLedger
) -> None:
    signature = local_ledger.send(local_ledger.token_move(new_address(), 5))
    answer = local_ledger.rpc("getTransaction", signature, OPTIONS)
    assert answer["meta"]["innerInstructions"]  # the account is made by calls to the token program
    [said] = told(solana, signature, str(TOKEN_PROGRAM_ID))
    assert said.data[0] == TRANSFER_CHECKED
    [made] = told(solana, signature, str(ASSOCIATED_TOKEN_PROGRAM_ID))
    assert made.data == b"\x01"


def test_data_that_no_transaction_can_hold_are_no_answer(local_ledger: LocalLedger) -> None:
    signature = local_ledger.send([memo("id")])
    answer = local_ledger.rpc("getTransaction", signature, OPTIONS)
    assert mentions(read_entry(answer), {ROUTER}) == (Mention(ROUTER, b"id"),)
    for junk in ("0", "l", "é", "2" * 1_701):
        changed: Any = copy.deepcopy(answer)
        changed["transaction"]["message"]["instructions"][0]["data"] = junk
        with pytest.raises(ChainError):
            mentions(read_entry(changed), {ROUTER})
        assert mentions(read_entry(changed), set()) == ()


def test_a_failed_transaction_tells_what_it_was_for(solana: Chain, local_ledger: LocalLedger) -> None:
    too_much = local_ledger.token_move(new_address(), 10**18)
    signature = local_ledger.send_failing([memo("an id"), *too_much])
    assert told(solana, signature, ROUTER) == (Mention(ROUTER, b"an id"),)
