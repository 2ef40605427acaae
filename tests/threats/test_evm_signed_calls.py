"""Without a trace only what a payer signed is read, where it stands by the ABI and nowhere else, at a bounded cost."""

import random
import time
from typing import Any

import pytest
from eth_abi.abi import encode
from hypothesis import given, settings
from hypothesis import strategies as st

from chains.clients import evm_transfers
from chains.clients.evm_calls import TokenCall
from chains.clients.evm_signed_calls import (
    BEFORE_EXECUTION,
    EXECUTION_FAILURE,
    EXECUTION_SUCCESS,
    MOST_CALLS,
    USER_OPERATION_EVENT,
    Log,
    signed_calls,
)
from chains.clients.evm_transfers import TRANSFER_TOPIC
from chains.clients.quantities import to_hex
from tests.threats.evm_world import ENTRY_POINT, NOBODY, call_data, execute, handle_ops, transfer_data

RELAYER, SAFE, OTHER_SAFE, LIBRARY, TOKEN, PAYEE = (
    "0x1111111111111111111111111111111111111111",
    "0x2222222222222222222222222222222222222222",
    "0x3333333333333333333333333333333333333333",
    "0x4444444444444444444444444444444444444444",
    "0x5555555555555555555555555555555555555555",
    "0x6666666666666666666666666666666666666666",
)
REFERENCE = b"r" * 16
PAY = transfer_data(PAYEE, 7, REFERENCE)
PAID = TokenCall(TOKEN, SAFE, PAYEE, 7, REFERENCE)
DONE = Log(SAFE, (EXECUTION_SUCCESS, bytes(32)), bytes(32))


def execution(to: str, data: bytes, operation: int = 0, signatures: bytes = b"s" * 65) -> bytes:
    return call_data(
        "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
        to, 0, data, operation, 0, 0, 0, NOBODY, NOBODY, signatures,
    )  # fmt: skip


def read(to: str | None, data: bytes, *logs: Log) -> list[TokenCall]:
    return [call for part in signed_calls(RELAYER, to, data, logs) for call in part.calls]


def test_what_a_safe_executes_is_read_once_it_says_that_it_did() -> None:
    assert read(SAFE, execution(TOKEN, PAY), DONE) == [PAID]
    assert read(SAFE, execution(TOKEN, PAY)) == []
    assert read(SAFE, execution(TOKEN, PAY), Log(OTHER_SAFE, DONE.topics, DONE.data)) == []
    assert read(SAFE, execution(TOKEN, PAY), DONE, DONE) == []
    assert read(SAFE, execution(TOKEN, PAY), DONE, Log(SAFE, (EXECUTION_FAILURE,), b"")) == []


def test_a_delegated_call_is_no_call_unless_it_is_a_multi_send() -> None:
    assert read(SAFE, execution(TOKEN, PAY, operation=1), DONE) == []
    packed = b"\0" + bytes.fromhex(TOKEN[2:]) + bytes(32) + len(PAY).to_bytes(32) + PAY
    delegated = b"\1" + packed[1:]
    many = call_data("multiSend(bytes)", packed + delegated + packed)
    assert read(SAFE, execution(LIBRARY, many, operation=1), DONE) == [PAID, PAID]
    assert read(SAFE, execution(LIBRARY, many, operation=0), DONE) == []
    cut = call_data("multiSend(bytes)", packed + packed[:-1])
    assert read(SAFE, execution(LIBRARY, cut, operation=1), DONE) == []


def test_a_contract_that_is_created_signs_nothing() -> None:
    assert read(None, execution(TOKEN, PAY), DONE) == []


def operation(account: str, call: bytes, nonce: int = 0) -> tuple[Any, ...]:
    return (account, nonce, b"", call, bytes(32), 0, bytes(32), b"", b"")


def ended(account: str, nonce: int = 0, *, success: bool = True, by: str = ENTRY_POINT) -> Log:
    topics = (USER_OPERATION_EVENT, bytes(32), bytes.fromhex(account[2:]).rjust(32, b"\0"), bytes(32))
    return Log(by, topics, encode(["uint256", "bool", "uint256", "uint256"], [nonce, success, 0, 0]))


BEGUN = Log(ENTRY_POINT, (BEFORE_EXECUTION,), b"")
NOISE = Log(TOKEN, (bytes(32),), b"")
CALL = execute(TOKEN, 0, PAY)


def test_the_logs_of_an_operation_are_those_between_its_bounds() -> None:
    data = handle_ops(operation(SAFE, CALL), operation(OTHER_SAFE, CALL, 5))
    logs = [NOISE, BEGUN, NOISE, ended(SAFE), NOISE, NOISE, ended(OTHER_SAFE, 5), NOISE]
    first, second = signed_calls(RELAYER, ENTRY_POINT, data, logs)
    assert (first.calls, first.first, first.end) == ((PAID,), 1, 3)
    assert (second.calls[0].sender, second.first, second.end) == (OTHER_SAFE, 3, 6)


BUNDLE = handle_ops(operation(SAFE, CALL))


@pytest.mark.parametrize(
    ("to", "data", "logs"),
    [
        (SAFE, BUNDLE, [BEGUN, ended(SAFE)]),  # another contract was called
        (SAFE, BUNDLE, [Log(SAFE, BEGUN.topics, b""), ended(SAFE, by=SAFE)]),  # and plays the EntryPoint
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(SAFE, by=SAFE)]),  # another contract tells of it
        (ENTRY_POINT, BUNDLE, [ended(SAFE)]),
        (ENTRY_POINT, BUNDLE, [ended(SAFE), BEGUN]),
        (ENTRY_POINT, BUNDLE, [BEGUN, BEGUN, ended(SAFE)]),
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(SAFE), ended(SAFE)]),  # one more than were asked for
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(OTHER_SAFE)]),
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(SAFE, 1)]),
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(SAFE, success=False)]),
        (ENTRY_POINT, execution(TOKEN, PAY), [BEGUN, ended(SAFE), DONE]),
        (ENTRY_POINT, BUNDLE[: len(BUNDLE) // 2], [BEGUN, ended(SAFE)]),
        (SAFE, execution(TOKEN, PAY), [DONE, ended(SAFE)]),  # a Safe around a bundle
        (TOKEN, PAY, [ended(SAFE)]),  # a token around one
    ],
    ids=range(14),
)
def test_a_bundle_whose_events_do_not_tell_of_its_operations_signs_nothing(
    to: str, data: bytes, logs: list[Log]
) -> None:
    assert read(to, data, *logs) == []


def test_a_log_of_another_operation_of_the_same_account_is_not_bound() -> None:
    """The first operation's call would fit the log, but it is the second, of an unknown shape, that wrote it."""
    unknown = call_data("run(address,uint256,bytes)", TOKEN, 0, transfer_data(PAYEE, 7))
    data = handle_ops(operation(SAFE, CALL), operation(SAFE, unknown, 1))
    paid = Log(TOKEN, (TRANSFER_TOPIC, word(SAFE), word(PAYEE)), (7).to_bytes(32))
    transaction = {"from": RELAYER, "to": ENTRY_POINT, "value": "0x0", "input": to_hex(data)}
    for place, bound in ((1, (REFERENCE,)), (2, ())):
        logs = [BEGUN, ended(SAFE), ended(SAFE, 1)]
        logs.insert(place, paid)
        [transfer] = evm_transfers.transfers(transaction, {"logs": [raw(log) for log in logs]})
        assert transfer.references == bound


def word(account: str) -> bytes:
    return bytes.fromhex(account[2:]).rjust(32, b"\0")


def raw(log: Log) -> dict[str, Any]:
    topics = [to_hex(topic) for topic in log.topics]
    return {"address": log.address, "topics": topics, "data": to_hex(log.data), "logIndex": "0x0"}


def test_every_known_way_to_execute_is_read() -> None:
    calls = {
        "execute(address,uint256,bytes)": (TOKEN, 0, PAY),
        "executeBatch(address[],bytes[])": ([TOKEN], [PAY]),
        "executeBatch(address[],uint256[],bytes[])": ([TOKEN], [0], [PAY]),
        "executeBatch((address,uint256,bytes)[])": ([(TOKEN, 0, PAY)],),
        "executeUserOp(address,uint256,bytes,uint8)": (TOKEN, 0, PAY, 0),
        "executeUserOpWithErrorString(address,uint256,bytes,uint8)": (TOKEN, 0, PAY, 0),
    }
    for signature, arguments in calls.items():
        data = handle_ops(operation(SAFE, call_data(signature, *arguments)))
        assert read(ENTRY_POINT, data, BEGUN, ended(SAFE)) == [PAID], signature
        for cut in range(4, len(data), 31):
            read(ENTRY_POINT, data[:cut], BEGUN, ended(SAFE))
    unknown = handle_ops(operation(SAFE, call_data("run(address,uint256,bytes)", TOKEN, 0, PAY)))
    assert read(ENTRY_POINT, unknown, BEGUN, ended(SAFE)) == []


def test_the_first_layout_of_operations_is_read_too() -> None:
    layout = "(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)"
    body = (SAFE, 0, b"", CALL, 1, 2, 3, 4, 5, b"", b"")
    entry_point = "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789"
    data = call_data(f"handleOps({layout}[],address)", [body], NOBODY)
    events = [Log(entry_point, BEGUN.topics, b""), ended(SAFE, by=entry_point)]
    assert read(entry_point, data, *events) == [PAID]


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=600), selector=st.sampled_from([BUNDLE[:4], execution(TOKEN, PAY)[:4]]))
def test_garbage_is_passed_over(data: bytes, selector: bytes) -> None:
    read(SAFE, selector + data, DONE)
    read(ENTRY_POINT, selector + data, BEGUN, ended(SAFE))


@pytest.mark.parametrize("seed", range(200))
def test_a_transaction_with_bytes_changed_signs_nothing_new(seed: int) -> None:
    """Wherever bytes are changed, what is read pays with the signed call's bytes or is not there."""
    chance = random.Random(seed)
    good = bytearray(execution(TOKEN, transfer_data(PAYEE, 7), signatures=b"s" * 65 + REFERENCE) + REFERENCE)
    for _ in range(chance.randint(1, 3)):
        good[chance.randrange(4, len(good))] = chance.randrange(256)
    for call in read(SAFE, bytes(good), DONE):
        assert call.reference != REFERENCE


def pointing(count: int) -> bytes:
    """Return a bundle each of whose `count` operations points to the same `count` calls."""
    calls = call_data("executeBatch((address,uint256,bytes)[])", [(TOKEN, 0, PAY)])
    call = calls[4 + 3 * 32 :]
    batch = calls[:4] + (32).to_bytes(32) + count.to_bytes(32) + (32 * count).to_bytes(32) * count + call
    body = handle_ops(operation(SAFE, batch))[4 + 4 * 32 :]
    return (
        BUNDLE[:4] + (64).to_bytes(32) + bytes(32)
        + count.to_bytes(32) + (32 * count).to_bytes(32) * count + body
    )  # fmt: skip


def test_many_pointers_to_the_same_bytes_cost_little() -> None:
    assert read(ENTRY_POINT, pointing(30), BEGUN, *[ended(SAFE)] * 30) == [PAID] * 900
    started = time.process_time()
    assert read(ENTRY_POINT, pointing(MOST_CALLS), BEGUN, *[ended(SAFE)] * MOST_CALLS) == []
    assert time.process_time() - started < 2
