"""Neither the sender nor the node can misuse a trace: it is limited, and each transfer counts once."""

from typing import Any

import pytest
from eth_utils.address import to_checksum_address

from chains.client import ChainError, Transfer
from chains.families.evm.transactions import facts, transfers
from chains.families.evm.transactions import trace as trace_reading
from chains.families.evm.transactions.facts import Found
from chains.families.evm.transactions.mentions import mentions
from chains.families.evm.transactions.trace import Trace, Untraceable, read_trace
from chains.families.evm.transactions.tracing import (
    Mined,
    Tracer,
)
from chains.families.evm.transactions.tracing import Traces as Traces_
from chains.rpc.json_rpc import Identity, JsonRpc

ZERO_ADDRESS = "0x" + "00" * 20
A, B, C, TOKEN = ("0x" + digits * 20 for digits in ("aa", "bb", "cc", "11"))
REFERENCE, OTHER = b"r" * 16, b"o" * 16
TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def word(number: int) -> str:
    return hex(number)[2:].rjust(64, "0")


def frame(sender: str, to: str, value: int = 0, data: str = "0x", **more: Any) -> dict[str, Any]:
    return {"type": "CALL", "from": sender, "to": to, "value": hex(value), "input": data, **more}


def log(sender: str, recipient: str, amount: int, **more: Any) -> dict[str, Any]:
    topics = [TOPIC, "0x" + word(int(sender, 16)), "0x" + word(int(recipient, 16))]
    return {"address": TOKEN, "topics": topics, "data": "0x" + word(amount), **more}


def values(trace: Trace) -> list[tuple[str, int]]:
    return [(call.slot, call.value) for call in trace.calls if call.slot and call.value]


def test_slot_ignores_calls_that_move_nothing() -> None:
    """Some nodes show calls to precompiled contracts, others don't. A transfer must have the same slot on both."""
    pay = frame(B, C, 5)
    precompiled = frame(B, "0x" + "00" * 19 + "01")
    static = {**frame(B, C), "type": "STATICCALL"}
    bare = read_trace(frame(A, B, calls=[pay]))
    full = read_trace(frame(A, B, calls=[precompiled, static, frame(B, A), pay]))
    assert values(bare) == values(full) == [("0.0", 5)]


def test_failed_and_delegated_calls_move_nothing() -> None:
    calls = [
        frame(B, C, 1, error="execution reverted"),
        frame(B, A, calls=[frame(A, C, 2)], error="out of gas"),
        {**frame(B, C, 3), "type": "DELEGATECALL"},
        {**frame(B, C, 4), "type": "CALLCODE"},
        {**frame(B, B, 5), "type": "SELFDESTRUCT"},
        frame(B, B, 6),
        {**frame(B, C, 7), "type": "SELFDESTRUCT"},
        {**frame(B, C, 8), "type": "DELEGATECALL", "calls": [frame(B, C, 9)]},
    ]
    transaction = {"from": A, "to": B, "value": "0x0", "input": "0x"}
    trace = read_trace(frame(A, B, calls=calls))
    moved = transfers.transfers(transaction, {"logs": []}, trace)
    assert [(t.slot, t.amount) for t in moved] == [("0.0", 7), ("0.1.0", 9)]


def test_trace_of_the_maximum_depth_is_read() -> None:
    tree = frame(A, B, 1, "0x" + REFERENCE.hex())
    for _ in range(1023):
        tree = frame(A, B, calls=[tree])
    [(slot, value)] = values(read_trace(tree))
    assert value == 1
    assert len(slot) <= trace_reading.LONGEST_SLOT


def test_trace_that_fills_a_block_is_read() -> None:
    trace = read_trace(
        frame(A, B, calls=[frame(B, C, 1)] * 20_000, logs=[log(A, B, 1, position="0x1")] * 20_000)
    )
    assert len(trace.calls) == 20_001
    assert len(trace.logs or ()) == 20_000
    assert {call.parent for call in trace.calls} == {None, 0}


def test_trace_that_is_too_wide_or_unknown_is_unreadable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trace_reading, "MAX_FRAMES", 1000)
    with pytest.raises(Untraceable):
        read_trace(frame(A, B, calls=[frame(B, C, 1)] * trace_reading.MAX_FRAMES))
    with pytest.raises(Untraceable):
        read_trace(frame(A, B, logs=[log(A, B, 1)] * trace_reading.MAX_FRAMES))
    with pytest.raises(Untraceable):
        read_trace(frame(A, B, calls=[{**frame(B, C, 1), "type": "AUTHCALL"}]))


def test_call_has_its_parents_and_its_input_on_request() -> None:
    long = "0x" + "ab" * 1000
    inner = frame(B, C, 1, long, logs=[log(B, C, 1, position="0x0")])
    borrowed = {**frame(B, A), "type": "DELEGATECALL", "calls": [inner]}
    tree = frame(A, B, 0, long, calls=[frame(B, C, 2), frame(B, B, calls=[borrowed])])
    trace = read_trace(tree, {to_checksum_address(C)})
    assert [call.parent for call in trace.calls] == [None, 0, 0, 2]
    assert [len(call.data) for call in trace.calls] == [256, 0, 0, 1000]
    [written] = trace.logs or ()
    assert list(trace.enclosing(written.call)) == [3, 2, 0]


@pytest.mark.parametrize(
    "broken",
    [
        None, 7, [], "0x", {}, {"type": 7}, frame(A, "0x12"), frame("A", B), {**frame(A, B), "value": "7"},
        frame(A, B, calls=7), frame(A, B, calls=[None]), frame(A, B, logs=7), frame(A, B, logs=[None]),
        frame(A, B, logs=[{}]), frame(A, B, logs=[log(A, B, 1, position=0)]),
        frame(A, B, logs=[log(A, B, 1, topics=None, address="0x")]),
    ],
    ids=range(16),
)  # fmt: skip
def test_malformed_trace_raises_chain_error(broken: Any) -> None:
    has_calls = not isinstance(broken, dict) or "calls" in broken
    tree = broken if has_calls else {**broken, "calls": [frame(A, B)]}
    with pytest.raises(ChainError):
        read_trace(tree)


def paying(recipient: str, amount: int, reference: bytes = b"") -> str:
    return "0xa9059cbb" + word(int(recipient, 16)) + word(amount) + reference.hex()


def pulling(owner: str, recipient: str, amount: int, reference: bytes = b"") -> str:
    return "0x23b872dd" + word(int(owner, 16)) + word(int(recipient, 16)) + word(amount) + reference.hex()


def transfers_in(tree: dict[str, Any], *logs: dict[str, Any]) -> tuple[Transfer, ...]:
    receipt = {"logs": [{**log, "logIndex": hex(place)} for place, log in enumerate(logs)]}
    transaction = {"from": A, "to": tree["to"], "value": "0x0", "input": tree["input"]}
    return transfers.transfers(transaction, receipt, read_trace(tree))


def references(tree: dict[str, Any], *logs: dict[str, Any]) -> list[tuple[bytes, ...]]:
    return [transfer.references for transfer in transfers_in(tree, *logs)]


def test_logs_are_distinguished_by_position_among_calls() -> None:
    """The outer call logs, makes the inner call, and logs again. The three equal logs belong to two calls."""
    inner = frame(TOKEN, TOKEN, 0, pulling(B, C, 1, OTHER), logs=[log(B, C, 1, position="0x0")])
    tree = frame(
        B, TOKEN, 0, paying(C, 1, REFERENCE),
        calls=[inner], logs=[log(B, C, 1, position="0x0"), log(B, C, 1, position="0x1")],
    )  # fmt: skip
    bound = references(frame(A, B, calls=[tree]), *[log(B, C, 1)] * 3)
    assert bound == [(REFERENCE,), (OTHER,), ()], "a call that names one unit pays one unit"


def test_logs_of_a_delegatecall_belong_to_its_caller() -> None:
    code = {**frame(TOKEN, B, 0, paying(C, 1)), "type": "DELEGATECALL", "logs": [log(A, C, 1)]}
    proxy = frame(A, TOKEN, 0, paying(C, 1, REFERENCE), calls=[code])
    assert references(proxy, log(A, C, 1)) == [(REFERENCE,)]
    assert references(frame(A, B, calls=[proxy]), log(A, C, 1)) == [(REFERENCE,)]


def test_only_logs_to_the_recipient_of_a_call_are_bound() -> None:
    """The call that pays also pays a fee to the token's collector. The reference doesn't belong to the fee."""
    call = frame(B, TOKEN, 0, paying(C, 10, REFERENCE), logs=[log(B, A, 1), log(B, C, 9)])
    assert references(frame(A, B, calls=[call]), log(B, A, 1), log(B, C, 9)) == [(), (REFERENCE,)]


def test_log_caused_by_another_call_is_not_bound() -> None:
    """The call with the reference goes to a contract that runs borrowed code. Its logs come from another address."""
    call = frame(B, A, 0, paying(C, 9, REFERENCE), logs=[log(B, C, 9)])
    assert references(frame(A, B, calls=[call]), log(B, C, 9)) == [()]


def test_logs_of_a_call_count_up_to_the_amount_it_names() -> None:
    """A lending token logs its interest in the call that pays, as a transfer from the payer or as a mint."""
    call = frame(
        B, TOKEN, 0, paying(C, 10, REFERENCE), logs=[log(ZERO_ADDRESS, C, 99), log(B, C, 7), log(B, C, 99)]
    )
    moved = transfers_in(frame(A, B, calls=[call]), log(ZERO_ADDRESS, C, 99), log(B, C, 7), log(B, C, 99))
    assert [(t.references, t.made_by, t.claimable) for t in moved] == [
        ((), "", None),
        ((REFERENCE,), to_checksum_address(B), None),
        ((REFERENCE,), to_checksum_address(B), 3),
    ]


@pytest.mark.parametrize(
    ("call", "written", "reference", "made_by"),
    [
        (frame(B, TOKEN, 0, paying(C, 9, REFERENCE)), log(B, C, 9), (REFERENCE,), B),
        (frame(B, TOKEN, 0, pulling(A, C, 9, REFERENCE)), log(A, C, 9), (REFERENCE,), ""),
        # The tokens belong neither to the caller nor to the owner.
        (frame(B, TOKEN, 0, paying(C, 9, REFERENCE)), log(A, C, 9), (), ""),
        (frame(B, TOKEN, 0, pulling(A, C, 9, REFERENCE)), log(B, C, 9), (), ""),
        # A mint, even if the call's sender argument is the zero address.
        (frame(B, TOKEN, 0, pulling(ZERO_ADDRESS, C, 9, REFERENCE)), log(ZERO_ADDRESS, C, 9), (), ""),
        # Another function of the token. And code that is created instead of called.
        (frame(B, TOKEN, 0, "0xe3ee160e" + "00" * 200), log(B, C, 9), (), ""),
        ({**frame(B, TOKEN, 0, paying(C, 9, REFERENCE)), "type": "CREATE"}, log(B, C, 9), (), ""),
    ],
    ids=["transfer", "transferFrom", "another's", "the caller's", "a mint", "another function", "a creation"],
)
def test_log_belongs_to_the_call_of_its_own_sender(
    call: dict[str, Any], written: dict[str, Any], reference: tuple[bytes, ...], made_by: str
) -> None:
    [moved] = transfers_in(frame(A, B, calls=[{**call, "logs": [written]}]), written)
    assert (moved.references, moved.made_by) == (reference, made_by and to_checksum_address(made_by))


def checked(tree: dict[str, Any], *logs: dict[str, Any]) -> Traces_:
    """Return the trace after its check against a receipt with these logs."""
    found = Found({"0x1": ({}, {"logs": list(logs)})}, frozenset())
    return facts.checked(found, Traces_({"0x1": read_trace(tree)}, frozenset(), frozenset()))


def test_trace_with_other_logs_than_the_receipt_is_unreadable() -> None:
    call = frame(B, TOKEN, 0, paying(C, 2, REFERENCE), logs=[log(B, C, 2)])
    tree = frame(A, B, calls=[call])
    assert checked(tree, log(B, C, 2)).by_hash
    for logs in ([log(B, C, 1)], [log(B, C, 2), log(B, C, 2)]):
        left = checked(tree, *logs)
        assert (left.by_hash, left.unreadable) == ({}, {"0x1"})


def test_trace_without_the_logs_counts_as_missing() -> None:
    tree = frame(A, B, calls=[frame(B, TOKEN, 0, paying(C, 2, REFERENCE))])
    left = checked(tree, log(B, C, 2))
    assert (left.by_hash, left.missing, left.unreadable) == ({}, {"0x1"}, frozenset())
    assert checked(tree).by_hash, "there were none to report"


def test_long_calls_do_not_hide_other_payments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The relayer of a signed payment can add any number of such calls before it."""
    monkeypatch.setattr(trace_reading, "_MAX_KEPT_WHOLE", 2000)
    long = [frame(B, C, 0, "0x" + "ab" * 1000)] * 5
    payment, callback = frame(B, A, 7, "0x" + REFERENCE.hex()), frame(B, A, 8)
    calls = [*long, payment, {**frame(B, C, 0), "calls": [callback]}]
    trace = read_trace(frame(A, B, calls=calls), {to_checksum_address(C)})
    assert [len(call.data) for call in trace.calls] == [0, 1000, 1000, 256, 256, 256, 16, 0, 0]
    assert not trace.is_whole
    transaction = {"from": A, "to": B, "value": "0x0", "input": "0x"}
    named = mentions(transaction, (), trace, {to_checksum_address(C)})
    direct, enclosed = transfers.transfers(transaction, {"logs": []}, trace, mentions=named)
    assert (direct.references, direct.made_by) == ((REFERENCE,), to_checksum_address(B))
    assert (enclosed.amount, enclosed.made_by) == (8, "")


def test_kept_traces_are_bounded_by_their_input_size() -> None:
    tracer = Tracer(JsonRpc(["http://127.0.0.1:1"], Identity(("eth_chainId", []), lambda _: True)))
    frame = trace_reading.Call("CALL", "0xS", "0xRouter", 0, bytes(8 * 2**20))
    for n in range(20):
        mined = {f"0x{n}": Mined({}, {}, "0xb")}
        tracer._keep(mined, {f"0x{n}": Trace((frame,), ())}, frozenset())
    kept = [tracer.remembered({f"0x{n}": Mined({}, {}, "0xb")}, frozenset()) for n in range(20)]
    assert 0 < sum(map(len, kept)) <= 8
    assert kept[-1]
