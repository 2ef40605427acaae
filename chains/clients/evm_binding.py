"""Which reference belongs to which transfer of a token: that of the very call that wrote the transfer's log.

A trace tells which call that was. Where none tells, a log and a call are paired only if no other pairing is possible:
what is not certain is not bound.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from chains.clients.base import Transfer
from chains.clients.evm_calls import WORD, TokenCall, token_call
from chains.clients.evm_signed_calls import Log, SignedCalls
from chains.clients.evm_trace import EmittedLog, Trace

_Key = tuple[str, str, str]
_Item = TypeVar("_Item")
_YES = (b"", (1).to_bytes(WORD))
# approve, permit (EIP-2612), balanceOf, allowance, decimals
_NOT_MOVING = {
    bytes.fromhex(selector) for selector in ("095ea7b3", "d505accf", "70a08231", "dd62ed3e", "313ce567")
}


def by_signed_calls(
    transfers: Mapping[int, Transfer], signed: Sequence[SignedCalls]
) -> Iterator[tuple[int, bytes]]:
    """Yield (place of the log, reference) of each transfer that can only be that of one of these calls."""
    for part in signed:
        theirs = {place: t for place, t in transfers.items() if part.first <= place < part.end}
        yield from pair(theirs, part.calls)


def by_trace(
    transfers: Mapping[int, Transfer], logs: Sequence[Log], trace: Trace
) -> Iterator[tuple[int, bytes]]:
    """Yield (place of the log, reference) of each transfer whose call carries a reference for its recipient."""
    if trace.logs is None:
        yield from pair(transfers, list(_paying_calls(trace)))
        return
    for place, emitted in _matched(transfers, logs, trace.logs):
        call, transfer = trace.calls[emitted.call], transfers[place]
        asked = token_call(call.sender, call.to, call.data) if call.kind == "CALL" else None
        if asked is None or (asked.token, asked.recipient) != (transfer.token, transfer.recipient):
            continue
        if asked.reference is not None:
            yield place, asked.reference


def pulled(
    transaction_sender: str,
    called: str | None,
    transfers: Mapping[int, Transfer],
    logs: Sequence[Log],
    trace: Trace | None,
) -> set[int]:
    """Return the places of the transfers that were not made by a call of their own sender's.

    A trace tells who called the token. Without one it is certain only of the transaction's own sender, who called
    another contract (`called`): what an account without code has moves by its own call or by an allowance.
    """
    if trace is not None and trace.logs is not None:
        matched = _matched(transfers, logs, trace.logs)
        return {place for place, twin in matched if trace.calls[twin.call].sender != transfers[place].sender}
    return {
        place
        for place, transfer in transfers.items()
        if transfer.sender == transaction_sender and called not in (transfer.token, transaction_sender)
    }


def pair(transfers: Mapping[int, Transfer], calls: Sequence[TokenCall]) -> Iterator[tuple[int, bytes]]:
    """Yield (place of the log, reference) where transfers and calls can be paired in one way alone.

    A single transfer of a token between two accounts is that of the single call for it, of which at most a fee went
    elsewhere. Several have to be of just the amounts that the calls name; equal ones are interchangeable.
    """
    asked = _grouped(calls, lambda call: (call.token, call.sender, call.recipient))
    moved = _grouped(transfers.items(), lambda item: (item[1].token, item[1].sender, item[1].recipient))
    for key, items in moved.items():
        theirs = asked.get(key, [])
        if len(items) == len(theirs) == 1 and items[0][1].amount <= theirs[0].amount:
            pairs = [(items[0], theirs[0])]
        elif Counter(t.amount for _, t in items) == Counter(call.amount for call in theirs):
            in_order = sorted(items, key=lambda item: (item[1].amount, item[0]))
            pairs = list(zip(in_order, sorted(theirs, key=lambda call: call.amount), strict=True))
        else:
            continue
        yield from ((place, call.reference) for (place, _), call in pairs if call.reference is not None)


def _grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    groups: dict[_Key, list[_Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def _paying_calls(trace: Trace) -> Iterator[TokenCall]:
    """Yield the transfers that contracts were asked for, of those contracts that were asked for nothing else."""
    calls = [call for call in trace.calls if call.kind == "CALL" and call.data[:4] not in _NOT_MOVING]
    asked = {id(call): token_call(call.sender, call.to, call.data) for call in calls}
    others = {call.to for call in calls if asked[id(call)] is None}
    for call in calls:
        paying = asked[id(call)]
        if paying is not None and call.to not in others and call.answer in _YES:
            yield paying


def _matched(
    transfers: Mapping[int, Transfer], logs: Sequence[Log], emitted: Sequence[EmittedLog]
) -> Iterator[tuple[int, EmittedLog]]:
    """Yield each transfer's log in the receipt with its twin in the trace.

    Some chains put logs of their own into receipts, so each contract's logs are compared by themselves. If they are
    not the very same in both, that contract's are left out.
    """
    in_trace: dict[str, list[EmittedLog]] = defaultdict(list)
    for log in emitted:
        in_trace[log.address].append(log)
    for token in sorted({transfer.token for transfer in transfers.values()}):
        places = [place for place, log in enumerate(logs) if log.address == token]
        twins = in_trace[token]
        if [(logs[place].topics, logs[place].data) for place in places] != [
            (t.topics, t.data) for t in twins
        ]:
            continue
        yield from ((place, twin) for place, twin in zip(places, twins, strict=True) if place in transfers)
