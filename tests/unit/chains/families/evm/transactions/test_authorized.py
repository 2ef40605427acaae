"""The transfer of an authorization is found by the logs that the token writes next to each other."""

from dataclasses import replace
from typing import Any

import pytest
from eth_utils.crypto import keccak

from chains.families.evm.abi import encode_call
from chains.families.evm.authorizations.typed_data import SELECTORS
from chains.families.evm.transactions import transfers
from chains.families.evm.transactions.binding import AUTHORIZATION_USED, authorized
from chains.families.evm.transactions.signed_calls import Log
from chains.families.evm.transactions.trace import read_trace
from chains.families.evm.transactions.transfers import read_log

TOKEN, OTHER_TOKEN = "0x" + "11" * 20, "0x" + "12" * 20
PAYER, RECIPIENT, STRANGER, RELAYER = ("0x" + each * 20 for each in ("22", "33", "44", "55"))
TOPIC = keccak(text="Transfer(address,address,uint256)")
NONCE, OTHER_NONCE = keccak(b"one"), keccak(b"other")
REFERENCE = bytes(range(16))
BY_VRS = min(SELECTORS, key=lambda selector: selector != bytes.fromhex("e3ee160e"))


def word(value: str | int | bytes) -> str:
    number = int.from_bytes(value) if isinstance(value, bytes) else value
    return "0x" + hex(int(number, 16) if isinstance(number, str) else number)[2:].rjust(64, "0")


def used(payer: str = PAYER, nonce: bytes = NONCE, token: str = TOKEN) -> dict[str, Any]:
    return {
        "address": token,
        "topics": ["0x" + AUTHORIZATION_USED.hex(), word(payer), word(nonce)],
        "data": "0x",
    }


def moved(
    sender: str = PAYER, recipient: str = RECIPIENT, amount: int = 7, token: str = TOKEN
) -> dict[str, Any]:
    return {
        "address": token,
        "topics": ["0x" + TOPIC.hex(), word(sender), word(recipient)],
        "data": word(amount),
    }


def found(*logs: dict[str, Any]) -> dict[int, bytes]:
    read = [read_log(log) for log in logs]
    return authorized(transfers.token_transfers(read), read)


def relayed(*logs: dict[str, Any], **different: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a transaction that calls the token with an authorization, and the transaction's receipt."""
    call = "0x" + BY_VRS.hex() + "00" * 288
    transaction = {"from": RELAYER, "to": TOKEN, "value": "0x0", "input": call, **different}
    return transaction, {"logs": list(logs), "gasUsed": "0xffff"}


def test_transfer_after_its_use_is_authorized() -> None:
    assert found(used(), moved()) == {1: NONCE}


def test_transfer_before_its_use_is_authorized() -> None:
    assert found(moved(), used()) == {0: NONCE}


def test_each_use_has_the_transfer_after_it() -> None:
    logs = (moved(amount=1), used(), moved(amount=2), used(nonce=OTHER_NONCE), moved(amount=3))
    assert found(*logs) == {2: NONCE, 4: OTHER_NONCE}


@pytest.mark.parametrize(
    "logs",
    [
        (used(), moved(sender=STRANGER)),
        (used(), moved(token=OTHER_TOKEN)),
        (used(token=OTHER_TOKEN), moved()),
        (used(), moved(sender=STRANGER), moved()),
        (used(), used(token=OTHER_TOKEN), moved()),
        (moved(), moved(sender=STRANGER), used()),
    ],
    ids=[
        "another payer",
        "another token",
        "use of another token",
        "log between",
        "use between",
        "not beside",
    ],
)
def test_transfer_that_is_not_beside_its_use_is_not_authorized(logs: tuple[dict[str, Any], ...]) -> None:
    assert found(*logs) == {}


def test_use_with_another_number_of_topics_is_none() -> None:
    read = read_log(used())
    transfer = read_log(moved())
    for topics in (read.topics[:2], (*read.topics, bytes(32)), (read.topics[0], b"\1" * 32, NONCE)):
        logs = [Log(read.address, topics, b""), transfer]
        assert authorized(transfers.token_transfers(logs), logs) == {}


def test_plain_transfer_before_an_authorized_one_is_not_one() -> None:
    """Otherwise, the authorization for one request could claim the payer's transfer for another."""
    assert found(moved(), used(), moved(recipient=STRANGER)) == {2: NONCE}


def test_authorized_transfer_has_no_reference_and_no_maker() -> None:
    [transfer] = transfers.transfers(*relayed(used(), moved()))
    assert transfer.authorization == NONCE
    assert (transfer.references, transfer.made_by, transfer.is_marked, transfer.claimable) == (
        (),
        "",
        False,
        None,
    )
    # The relayer appends another request's reference to the call.
    with_suffix = "0x" + BY_VRS.hex() + "00" * 288 + REFERENCE.hex()
    [same] = transfers.transfers(*relayed(used(), moved(), input=with_suffix))
    assert same == transfer


def test_payer_who_sends_the_authorization_makes_no_transfer() -> None:
    [transfer] = transfers.transfers(*relayed(used(), moved(), **{"from": PAYER}))
    assert (transfer.made_by, transfer.authorization) == ("", NONCE)


def test_reference_around_an_authorization_claims_nothing() -> None:
    """A thief's contract calls the token, and claims that its own call moved the money."""
    transfer_call = encode_call("transfer", bytes.fromhex(RECIPIENT[2:]), 7) + REFERENCE
    transaction, receipt = relayed(used(), moved(), input="0x" + transfer_call.hex(), **{"from": PAYER})
    logs = [{**log, "position": "0x0"} for log in receipt["logs"]]
    inner = {
        "type": "CALL",
        "from": PAYER,
        "to": TOKEN,
        "value": "0x0",
        "input": transaction["input"],
        "logs": logs,
    }
    trace = read_trace({**inner, "calls": []})
    [transfer] = transfers.transfers(transaction, receipt, trace)
    assert (transfer.references, transfer.made_by, transfer.authorization) == ((), "", NONCE)


def test_direct_call_with_an_authorization_needs_no_trace() -> None:
    assert not transfers.needs_trace(*relayed(used(), moved()))


@pytest.mark.parametrize(
    ("logs", "different"),
    [
        ((used(), moved(), moved(STRANGER)), {}),
        ((used(), moved(), {**moved(), "topics": [word(1)]}), {"to": OTHER_TOKEN}),
        ((moved(),), {}),
        ((), {}),
        ((used(), moved()), {"to": STRANGER}),
        ((used(), moved()), {"input": "0x12345678"}),
        ((used(), moved()), {"value": "0x1"}),
        ((used(), moved()), {"type": "0x99"}),
        ((used(), moved(), {"address": STRANGER, "topics": [], "data": "0x"}), {}),
    ],
)
def test_other_calls_with_authorizations_need_a_trace(
    logs: tuple[dict[str, Any], ...], different: dict[str, Any]
) -> None:
    assert transfers.needs_trace(*relayed(*logs, **different))


def test_amount_is_that_of_the_log() -> None:
    [transfer] = transfers.transfers(*relayed(used(), moved(amount=3)))
    assert transfer.claimable_amount == 3
    assert replace(transfer, authorization=None).amount == 3
