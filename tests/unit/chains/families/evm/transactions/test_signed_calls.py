"""Without a trace, only a payer's signed call is read, strictly by the ABI and at a limited cost."""

import random
import time
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st

from chains.client import Mention
from chains.families.evm.abi import TRANSFER_TOPIC
from chains.families.evm.calls import token_call
from chains.families.evm.quantities import to_hex
from chains.families.evm.transactions import transfers
from chains.families.evm.transactions.evidence import Evidence
from chains.families.evm.transactions.mentions import mentions
from chains.families.evm.transactions.signed_calls import (
    BEFORE_EXECUTION,
    EXECUTION_SUCCESS,
    MAX_CALLS,
    SAFE_TRANSACTION,
    USER_OPERATION_EVENT,
    Execution,
    Log,
    SignedCall,
    Way,
    executions,
)
from tests.support.threats.evm_world import (
    ENTRY_POINT,
    ZERO_ADDRESS,
    call_data,
    execute,
    handle_ops,
    transfer_data,
)
from tests.support.threats.real_accounts import MULTI_SENDS, execute_batch, execute_by_mode

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
PAID = (TOKEN, 0, PAY)
LIBRARY_AT = MULTI_SENDS["1.4.1", "MultiSend"]
DONE = Log(SAFE, (EXECUTION_SUCCESS, bytes(32)), bytes(32))


def execution(
    to: str, data: bytes, operation: int = 0, signatures: bytes = b"s" * 65, gas_price: int = 0
) -> bytes:
    return call_data(
        "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
        to, 0, data, operation, 0, 0, gas_price, ZERO_ADDRESS, ZERO_ADDRESS, signatures,
    )  # fmt: skip


def read(to: str | None, data: bytes, *logs: Log, sender: str = RELAYER) -> list[tuple[str, int, bytes]]:
    return [
        (call.to, call.value, bytes(call.data))
        for part in executions(sender, to, data, logs)
        for call in part.calls
    ]


def test_what_a_safe_executes_is_read_once_it_logs_that_it_did() -> None:
    assert read(SAFE, execution(TOKEN, PAY), DONE) == [PAID]
    assert read(SAFE, execution(TOKEN, PAY), Log(SAFE, (SAFE_TRANSACTION,), b""), DONE) == [PAID]
    assert read(SAFE, execution(TOKEN, PAY)) == []
    assert read(SAFE, execution(TOKEN, PAY), Log(OTHER_SAFE, DONE.topics, DONE.data)) == []
    assert read(SAFE, execution(TOKEN, PAY), DONE, DONE) == []


def test_what_else_an_account_logs_says_that_something_else_ran() -> None:
    """For example, a failed execution, a module's execution or an upgrade."""
    assert read(SAFE, execution(TOKEN, PAY), DONE, Log(SAFE, (b"f" * 32,), b"")) == []
    assert read(SAFE, execution(TOKEN, PAY), DONE, Log(SAFE, (), b"")) == []
    data = handle_ops(operation(SAFE, CALL))
    assert read(ENTRY_POINT, data, BEGUN, Log(SAFE, (b"u" * 32,), b""), ended(SAFE)) == []
    assert read(SAFE, execute(*PAID), Log(SAFE, (b"u" * 32,), b""), sender=SAFE) == []


def test_safe_execution_with_gas_refund_returns_no_calls() -> None:
    assert read(SAFE, execution(TOKEN, PAY, gas_price=1), DONE) == []


def test_delegated_call_is_read_only_for_published_multi_send() -> None:
    assert read(SAFE, execution(TOKEN, PAY, operation=1), DONE) == []
    packed = b"\0" + bytes.fromhex(TOKEN[2:]) + bytes(32) + len(PAY).to_bytes(32) + PAY
    delegated = b"\1" + packed[1:]
    many = call_data("multiSend(bytes)", packed + packed)
    assert read(SAFE, execution(LIBRARY_AT, many, operation=1), DONE) == [PAID, PAID]
    assert read(SAFE, execution(LIBRARY, many, operation=1), DONE) == []
    assert read(SAFE, execution(LIBRARY_AT, many), DONE) == [(LIBRARY_AT, 0, many)], "a call like any other"
    for odd in (packed + delegated, packed + packed[:-1]):
        data = execution(LIBRARY_AT, call_data("multiSend(bytes)", odd), operation=1)
        assert read(SAFE, data, DONE) == []


def test_batch_is_read_only_if_account_sends_it_to_itself() -> None:
    batch = execute_batch(PAID, PAID)
    assert read(SAFE, batch, sender=SAFE) == [PAID, PAID]
    assert read(SAFE, batch, sender=RELAYER) == [], "what a relayer brings, another contract checks or none"


def test_only_reverting_erc_7579_modes_are_read() -> None:
    assert read(SAFE, execute_by_mode(PAID), sender=SAFE) == [PAID]
    single = call_data("execute(bytes32,bytes)", bytes(32), bytes.fromhex(TOKEN[2:]) + bytes(32) + PAY)
    assert read(SAFE, single, sender=SAFE) == [PAID]
    for mode in (b"\1\1", b"\xff", b"\1" + bytes(5) + b"x", b"\xfe"):
        assert read(SAFE, execute_by_mode(PAID, mode=mode), sender=SAFE) == []


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
    first, second = executions(RELAYER, ENTRY_POINT, data, logs)
    assert (first.account, first.first, first.end) == (SAFE, 1, 3)
    assert (second.account, second.first, second.end) == (OTHER_SAFE, 3, 6)


BUNDLE = handle_ops(operation(SAFE, CALL))


@pytest.mark.parametrize(
    ("to", "data", "logs"),
    [
        (SAFE, BUNDLE, [BEGUN, ended(SAFE)]),  # the transaction called another contract
        (SAFE, BUNDLE, [Log(SAFE, BEGUN.topics, b""), ended(SAFE, by=SAFE)]),  # and imitates EntryPoint
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(SAFE, by=SAFE)]),  # another contract wrote the log
        (ENTRY_POINT, BUNDLE, [ended(SAFE)]),
        (ENTRY_POINT, BUNDLE, [ended(SAFE), BEGUN]),
        (ENTRY_POINT, BUNDLE, [BEGUN, BEGUN, ended(SAFE)]),
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(SAFE), ended(SAFE)]),  # more logs than operations
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(OTHER_SAFE)]),
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(SAFE, 1)]),
        (ENTRY_POINT, BUNDLE, [BEGUN, ended(SAFE, success=False)]),
        (ENTRY_POINT, execution(TOKEN, PAY), [BEGUN, ended(SAFE), DONE]),
        (ENTRY_POINT, BUNDLE[: len(BUNDLE) // 2], [BEGUN, ended(SAFE)]),
        (SAFE, execution(TOKEN, PAY), [DONE, ended(SAFE)]),  # a Safe's call around a bundle
        (TOKEN, PAY, [ended(SAFE)]),  # a token's call around a bundle
    ],
    ids=range(14),
)
def test_bundle_events_not_matching_operations_sign_nothing(to: str, data: bytes, logs: list[Log]) -> None:
    assert read(to, data, *logs) == []


def test_account_with_two_bundled_operations_has_neither_read() -> None:
    """One of the operations may change the account's code for the other."""
    data = handle_ops(operation(SAFE, CALL), operation(OTHER_SAFE, CALL), operation(SAFE, CALL, 1))
    logs = [BEGUN, ended(SAFE), ended(OTHER_SAFE), ended(SAFE, 1)]
    assert [part.account for part in executions(RELAYER, ENTRY_POINT, data, logs)] == [OTHER_SAFE]


def test_an_operation_with_code_of_others_in_it_is_not_read() -> None:
    for paymaster, init_code, is_read in (
        (b"", b"", True),
        (b"p" * 52, b"", False),
        (b"", b"i" * 24, False),
        (b"", bytes.fromhex("7702"), True),  # an EIP-7702 marker without code to run
        (b"", bytes.fromhex("7702").ljust(24, b"\0"), False),
    ):
        body = (SAFE, 0, init_code, CALL, bytes(32), 0, bytes(32), paymaster, b"")
        assert bool(read(ENTRY_POINT, handle_ops(body), BEGUN, ended(SAFE))) is is_read


def test_a_log_of_another_operation_is_not_bound() -> None:
    """The first operation's call matches the log. But the second operation, whose shape is unknown, wrote it."""
    unknown = call_data("run(address,uint256,bytes)", TOKEN, 0, transfer_data(PAYEE, 7))
    data = handle_ops(operation(SAFE, CALL), operation(OTHER_SAFE, unknown, 1))
    paid = Log(TOKEN, (TRANSFER_TOPIC, word(SAFE), word(PAYEE)), (7).to_bytes(32))
    transaction = {"from": RELAYER, "to": ENTRY_POINT, "value": "0x0", "input": to_hex(data)}
    known = Evidence(frozenset({SAFE, OTHER_SAFE}))
    for place, bound in ((1, (REFERENCE,)), (2, ())):
        logs = [BEGUN, ended(SAFE), ended(OTHER_SAFE, 1)]
        logs.insert(place, paid)
        receipt = {"logs": [raw(log) for log in logs]}
        [transfer] = transfers.transfers(transaction, receipt, evidence=known)
        assert transfer.references == bound
        [transfer] = transfers.transfers(transaction, receipt)
        assert transfer.references == (), "nothing is known of the accounts' code"


@pytest.mark.parametrize(
    ("calls", "amounts", "is_bound"),
    [
        ([PAID], [7], True),
        ([PAID, PAID], [7, 7], True),
        ([PAID], [7, 7], False),  # one more movement
        ([PAID, PAID], [7], False),  # one transfer returned false
        ([PAID], [6], False),  # a fee, or another payment's log
        ([PAID, (TOKEN, 0, call_data("approve(address,uint256)", PAYEE, 1))], [7], True),
        ([PAID, (LIBRARY, 0, b"fill")], [7], False),  # unknown code
        ([PAID, (TOKEN, 0, b"sync")], [7], False),
        ([(TOKEN, 1, PAY)], [7], False),
    ],
    ids=range(9),
)
def test_transfers_bind_only_if_calls_match_logs_one_to_one(
    calls: list[tuple[str, int, bytes]], amounts: list[int], is_bound: bool
) -> None:
    paid = [Log(TOKEN, (TRANSFER_TOPIC, word(SAFE), word(PAYEE)), n.to_bytes(32)) for n in amounts]
    batch = execute_batch(*calls)
    transaction = {"from": SAFE, "to": SAFE, "value": "0x0", "input": to_hex(batch)}
    receipt = {"logs": [raw(log) for log in paid]}
    moved = transfers.transfers(transaction, receipt, evidence=Evidence(frozenset({SAFE})))
    expected = ((REFERENCE,), SAFE) if is_bound else ((), "")
    assert [(t.references, t.made_by) for t in moved] == [expected] * len(amounts)


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
        "execute((address,uint256,bytes))": ((TOKEN, 0, PAY),),
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
    data = call_data(f"handleOps({layout}[],address)", [body], ZERO_ADDRESS)
    events = [Log(entry_point, BEGUN.topics, b""), ended(SAFE, by=entry_point)]
    assert read(entry_point, data, *events) == [PAID]


@settings(max_examples=300)
@given(data=st.binary(max_size=600), selector=st.sampled_from([BUNDLE[:4], execution(TOKEN, PAY)[:4]]))
def test_garbage_is_passed_over(data: bytes, selector: bytes) -> None:
    read(SAFE, selector + data, DONE)
    read(ENTRY_POINT, selector + data, BEGUN, ended(SAFE))


@pytest.mark.parametrize("seed", range(200))
def test_a_transaction_with_bytes_changed_signs_nothing_new(seed: int) -> None:
    """Whichever bytes are changed, a payment is either read from the signed call's own bytes or not read."""
    chance = random.Random(seed)
    good = bytearray(execution(TOKEN, transfer_data(PAYEE, 7), signatures=b"s" * 65 + REFERENCE) + REFERENCE)
    for _ in range(chance.randint(1, 3)):
        good[chance.randrange(4, len(good))] = chance.randrange(256)
    for to, _, data in read(SAFE, bytes(good), DONE):
        call = token_call(SAFE, to, data)
        assert call is None or call.reference != REFERENCE


def pointing(count: int) -> bytes:
    """Return a bundle with `count` operations that all point to the same `count` calls."""
    calls = call_data("executeBatch((address,uint256,bytes)[])", [(TOKEN, 0, PAY)])
    call = calls[4 + 3 * 32 :]
    batch = calls[:4] + (32).to_bytes(32) + count.to_bytes(32) + (32 * count).to_bytes(32) * count + call
    bodies = [handle_ops(operation(account(number), batch))[4 + 4 * 32 :] for number in range(2)]
    # The first operation belongs to another account. All others are the same bytes.
    places = [32 * count] + [32 * count + len(bodies[0])] * (count - 1)
    return (
        BUNDLE[:4] + (64).to_bytes(32) + bytes(32) + count.to_bytes(32)
        + b"".join(place.to_bytes(32) for place in places) + b"".join(bodies)
    )  # fmt: skip


def account(number: int) -> str:
    return to_checksum_address((number + 1).to_bytes(20))


def test_many_pointers_to_the_same_bytes_cost_little() -> None:
    ends = [ended(account(0)), *[ended(account(1))] * (MAX_CALLS - 1)]
    assert read(ENTRY_POINT, pointing(30), BEGUN, *ends[:30]) == [PAID] * 30
    started = time.process_time()
    assert read(ENTRY_POINT, pointing(MAX_CALLS), BEGUN, *ends) == [PAID] * MAX_CALLS
    assert time.process_time() - started < 2


def test_batch_that_repeats_its_bytes_mentions_nothing() -> None:
    """A thousand calls can point to the same arguments. Copies of them would need a thousand times their size."""
    repeated = execution_of(*[(TOKEN, 0, b"x" * 100)] * 10)
    assert [mention.data for mention in mentioned(repeated, size=10_000)] == [b"x" * 100] * 10
    assert mentioned(repeated, size=999) == ()


def execution_of(*calls: tuple[str, int, bytes]) -> Execution:
    signed = tuple(SignedCall(to, value, memoryview(data)) for to, value, data in calls)
    return Execution(SAFE, Way.BATCH, b"0000", signed, 0, 0)


def mentioned(execution: Execution, *, size: int) -> tuple[Mention, ...]:
    transaction = {"to": SAFE, "input": to_hex(bytes(size))}
    return mentions(transaction, (), None, {TOKEN}, [execution]).all
