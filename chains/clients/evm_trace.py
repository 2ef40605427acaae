"""Reading a call trace: which calls took effect, what each carried, and which of them wrote which log.

The trace is that of `debug_traceTransaction` with `callTracer`: a tree of frames. A frame that failed takes everything
under it back. Value moves with CALL, CREATE and SELFDESTRUCT alone: the code that DELEGATECALL and CALLCODE run acts
for the account that runs it, and its logs are that account's. So each log belongs to the nearest CALL around it.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from chains.clients.base import ChainError
from chains.clients.quantities import address, data_bytes, quantity

MOST_FRAMES = 10_000
LONGEST_SLOT = 160
_ROOT = "0"
# Beyond this many bytes no argument and no reference is looked for, so no more is kept.
_KEPT_INPUT = 256
_MOVING = {"CALL", "CREATE", "CREATE2", "SELFDESTRUCT"}
_ACTING_FOR_THE_CALLER = {"DELEGATECALL", "CALLCODE"}
_HARMLESS = {"STATICCALL"}


class Untraceable(Exception):
    """The trace is beyond what is worth reading, whoever gives it."""


@dataclass(frozen=True)
class Call:
    """A call that took effect: `data` is the beginning of its input, `slot` its place, for those that move value.

    `answer` is the beginning of what it returned.
    """

    kind: str
    sender: str
    to: str
    value: int
    data: bytes
    answer: bytes = b""
    slot: str = ""


@dataclass(frozen=True)
class EmittedLog:
    """A log that stands, and the call (by its place in `Trace.calls`) in which its emitter wrote it."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    call: int


@dataclass(frozen=True)
class Trace:
    """What took effect; the first call is the transaction itself.

    `logs` come in the order in which they were written. They are None where the node does not tell them, or not where
    among a frame's calls each was written.
    """

    calls: tuple[Call, ...]
    logs: tuple[EmittedLog, ...] | None


@dataclass
class _Frame:
    """One frame on the way through the tree. `call` is the place of the CALL that it belongs to."""

    raw: dict[str, Any]
    kind: str
    call: int
    parent: "_Frame | None"
    inner: list[Any]
    logs: list[Any]
    seen: int = 0
    written: int = 0
    moves_value: bool = False
    children: list["_Frame"] = field(default_factory=list)


def read_trace(answer: Any) -> Trace:
    """Return what took effect in a transaction, from its trace. Raises ChainError for one that makes no sense.

    Raises Untraceable if it has too many frames.
    """
    reader = _Reader()
    root = reader.walk(answer)
    return Trace(tuple(reader.numbered(root)), tuple(reader.logs) if reader.tells_logs else None)


class _Reader:
    """One reading; without recursion, since who made the transaction decides how deep it nests."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.frames: list[_Frame] = []  # the frame of each call
        self.logs: list[EmittedLog] = []
        self._has_logs = False
        self._has_order = True
        self._count = 0

    @property
    def tells_logs(self) -> bool:
        """Whether the node told of logs, and of the order in which all of them were written."""
        return self._has_logs and self._has_order

    def walk(self, answer: Any) -> _Frame | None:
        """Go through all frames in the order of execution and note the calls and logs that stand."""
        root = self._enter(answer, None)
        stack = [root] if root else []
        while stack:
            frame = stack[-1]
            at_its_end = frame.seen == len(frame.inner)
            self._write_logs(frame, at_its_end)
            if at_its_end:
                stack.pop()
                continue
            child = self._enter(frame.inner[frame.seen], frame)
            frame.seen += 1
            if child:
                stack.append(child)
        return root

    def numbered(self, root: _Frame | None) -> Iterator[Call]:
        """Yield the calls, those that move value with their slots.

        A slot is the path through the frames in which value moves, counted among such alone: nodes differ in which
        others they show (precompiled contracts, for instance), and one transfer may never have two names.
        """
        slots = dict(_slots(root)) if root and root.moves_value else {}
        for call, frame in zip(self.calls, self.frames, strict=True):
            slot = slots.get(id(frame), "")
            yield Call(call.kind, call.sender, call.to, call.value, call.data, call.answer, slot)

    def _enter(self, raw: Any, parent: _Frame | None) -> _Frame | None:
        """Return the frame to go into, or None where nothing in it took effect or could move anything."""
        self._count_one()
        if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
            raise ChainError("the node's trace is malformed")
        kind = raw["type"].upper()
        if raw.get("error") or kind in _HARMLESS:
            return None
        inner, logs = _list(raw.get("calls")), _list(raw.get("logs"))
        if kind in _ACTING_FOR_THE_CALLER and parent is not None:
            frame = _Frame(raw, kind, parent.call, parent, inner, logs)
        elif kind in _MOVING:
            frame = _Frame(raw, kind, len(self.calls), parent, inner, logs)
            self._note_call(frame)
        else:
            raise Untraceable(f"a call of an unknown kind: {kind[:20]}")
        if parent is not None:
            parent.children.append(frame)
        return frame

    def _note_call(self, frame: _Frame) -> None:
        raw = frame.raw
        call = Call(
            kind=frame.kind,
            sender=_address(raw.get("from")),
            to=_address(raw.get("to")),
            value=quantity(raw.get("value", "0x0")),
            data=data_bytes(raw.get("input", "0x"))[:_KEPT_INPUT],
            answer=data_bytes(raw.get("output", "0x"))[:32],
        )
        self.calls.append(call)
        self.frames.append(frame)
        around: _Frame | None = frame if call.value and call.sender != call.to else None
        while around is not None and not around.moves_value:
            around.moves_value = True
            around = around.parent

    def _write_logs(self, frame: _Frame, at_its_end: bool) -> None:
        """Note the logs that the frame wrote before its next call."""
        while frame.written < len(frame.logs):
            log = frame.logs[frame.written]
            if not isinstance(log, dict):
                raise ChainError("the node's trace is malformed")
            if frame.inner and "position" not in log:
                self._has_order = False
            if not at_its_end and quantity(log.get("position", "0x0")) > frame.seen:
                return
            self._count_one()
            self._has_logs = True
            self.logs.append(_emitted(log, frame.call))
            frame.written += 1

    def _count_one(self) -> None:
        self._count += 1
        if self._count > MOST_FRAMES:
            raise Untraceable(f"more than {MOST_FRAMES} calls and logs")


def _slots(root: _Frame) -> Iterator[tuple[int, str]]:
    stack = [(root, _ROOT)]
    while stack:
        frame, path = stack.pop()
        yield id(frame), _short(path)
        moving = [child for child in frame.children if child.moves_value]
        stack += [(child, f"{path}.{place}") for place, child in enumerate(moving)]


def _short(path: str) -> str:
    """Return the path, or a digest of one that is too long to be kept."""
    return path if len(path) <= LONGEST_SLOT else f"{_ROOT}.{hashlib.sha256(path.encode()).hexdigest()}"


def _emitted(log: dict[str, Any], call: int) -> EmittedLog:
    topics = tuple(data_bytes(topic) for topic in _list(log.get("topics")))
    return EmittedLog(_address(log.get("address")), topics, data_bytes(log.get("data", "0x")), call)


@lru_cache(maxsize=4096)
def _checksummed(answer: str) -> str:
    return address(answer)


def _address(answer: Any) -> str:
    """Return the address; a trace names few of them many times, and a checksum takes time."""
    return _checksummed(answer) if isinstance(answer, str) else address(answer)


def _list(answer: Any) -> list[Any]:
    if answer is None:
        return []
    if not isinstance(answer, list):
        raise ChainError("the node's trace is malformed")
    return answer
