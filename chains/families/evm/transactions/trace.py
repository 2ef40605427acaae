"""Parse a call trace: the calls that took effect, their input and value, and the logs that each wrote.

The trace comes from `debug_traceTransaction` with `callTracer`: a tree of frames. A failed frame reverts everything
below it. Only CALL, CREATE and SELFDESTRUCT move value. Code in DELEGATECALL and CALLCODE runs as the calling account,
which also writes the code's logs. So each log belongs to the nearest CALL around it.
"""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from chains.client import ChainError
from chains.families.evm.quantities import address, data_bytes, quantity

# A block's gas allows fewer frames on every supported chain. The limit protects memory from a faulty node.
MAX_FRAMES = 1_500_000
LONGEST_SLOT = 160
_ROOT = "0"
# Arguments and references are within this many bytes.
_KEPT_INPUT = 256
# The memory limit for a transaction's whole inputs. Beyond it, only the beginning of an input is stored.
_MAX_KEPT_WHOLE = 2 * 1024 * 1024
_MOVING = {"CALL", "CREATE", "CREATE2", "SELFDESTRUCT"}
_RUNS_AS_CALLER = {"DELEGATECALL", "CALLCODE"}
_HARMLESS = {"STATICCALL"}


class Untraceable(Exception):
    """The trace exists but can't be read: it is too large, or has unknown kinds of calls."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that took effect. `slot` identifies a call that moves value.

    `data` is the beginning of the call's input, or the whole input for an address in `whole_input_of` (see
    `read_trace`). `result` is the beginning of the call's return value. `parent` is the index of the enclosing call in
    `Trace.calls`; None for the first call.
    """

    kind: str
    sender: str
    to: str
    value: int
    data: bytes
    result: bytes = b""
    slot: str = ""
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class EmittedLog:
    """A log that took effect. `call` is the index in `Trace.calls` of the call that wrote it."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    call: int


@dataclass(frozen=True)
class Trace:
    """The calls and logs that took effect.

    The first call is the transaction itself. `logs` are in order; None if the node doesn't report their position among
    a frame's calls. `is_whole` is false if an input was cut at the memory limit.
    """

    calls: tuple[Call, ...]
    logs: tuple[EmittedLog, ...] | None
    is_whole: bool = True

    def enclosing(self, place: int | None) -> Iterator[int]:
        """Yield `place` and the indexes of the calls around it, from the inside out."""
        while place is not None:
            yield place
            place = self.calls[place].parent


@dataclass(slots=True)
class RawLog:
    """A log in a trace.

    `position` is the number of calls that its frame made before this log; None if the node doesn't report it.
    """

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    position: int | None

    @classmethod
    def read(cls, raw: Any) -> "RawLog":
        if isinstance(raw, RawLog):
            return raw
        if not isinstance(raw, dict):
            raise ChainError("the node's trace is malformed")
        return cls(
            address(raw.get("address")),
            tuple(data_bytes(topic) for topic in _list(raw.get("topics"))),
            data_bytes(raw.get("data", "0x")),
            quantity(raw["position"]) if "position" in raw else None,
        )


class RawFrame:
    """One frame of the tree.

    The class has slots because a trace may have hundreds of thousands of frames. `inner` and `logs` have frames and
    logs, parsed or unparsed. `call` is the index of the CALL that the frame belongs to; the traversal sets it.
    """

    __slots__ = (
        "call", "data", "inner", "is_undone", "kind", "logs", "moves_value", "parent", "result", "seen",
        "sender", "to", "value", "written",
    )  # fmt: skip

    def __init__(self, raw: dict[str, Any], whole_input_of: Collection[str]) -> None:
        kind = raw.get("type")
        if not isinstance(kind, str):
            raise ChainError("the node's trace is malformed")
        self.kind = kind.upper()
        self.is_undone = bool(raw.get("error")) or self.kind in _HARMLESS
        self.parent: RawFrame | None = None
        self.call = self.seen = self.written = 0
        self.moves_value = False
        self.inner: list[Any] = []
        self.logs: list[Any] = []
        if self.is_undone:
            return
        self.inner, self.logs = list(_list(raw.get("calls"))), _list(raw.get("logs"))
        if self.kind in _MOVING:
            self.sender, self.to = address(raw.get("from")), address(raw.get("to"))
            self.value = quantity(raw.get("value", "0x0"))
            data = data_bytes(raw.get("input", "0x"))
            self.data = data if self.to in whole_input_of else data[:_KEPT_INPUT]
            self.result = data_bytes(raw.get("output", "0x"))[:32]


def read_trace(result: Any, whole_input_of: Collection[str] = ()) -> Trace:
    """Parse a transaction's trace.

    Calls to the addresses `whole_input_of` (checksummed) keep their whole input. Raises ChainError for a malformed
    trace, and Untraceable for a trace that exists but can't be read.
    """
    reader = _Reader(whole_input_of)
    root = reader.walk(result)
    logs = tuple(reader.logs) if reader.has_ordered_logs else None
    return Trace(tuple(reader.numbered(root)), logs, reader.is_whole)


class _Reader:
    """One traversal. The traversal is iterative, because the transaction's sender controls the depth."""

    def __init__(self, whole_input_of: Collection[str]) -> None:
        self.frames: list[RawFrame] = []  # the frames that are calls
        self.logs: list[EmittedLog] = []
        self.is_whole = True
        self._whole_input_of = whole_input_of
        self._has_logs = False
        self._has_order = True
        self._count = 0
        self._kept = 0

    @property
    def has_ordered_logs(self) -> bool:
        """Whether the node reported logs, each with its order."""
        return self._has_logs and self._has_order

    def walk(self, result: Any) -> RawFrame | None:
        """Visit all frames in the order of execution, and collect the calls and logs that took effect."""
        root = self._enter(result, None)
        stack = [root] if root else []
        while stack:
            frame = stack[-1]
            is_finished = frame.seen == len(frame.inner)
            self._write_logs(frame, is_finished)
            if is_finished:
                stack.pop()
                continue
            child = self._enter(frame.inner[frame.seen], frame)
            frame.inner[frame.seen] = child
            frame.seen += 1
            if child:
                stack.append(child)
        return root

    def numbered(self, root: RawFrame | None) -> Iterator[Call]:
        """Yield the calls. Calls that move value have slots. A slot is the path through the frames that move value.
        Other frames don't count, because some nodes omit them (such as precompiled contracts), and a transfer must
        always have the same slot.
        """
        slots = dict(_slots(root)) if root and root.moves_value else {}
        for frame in self.frames:
            slot = slots.get(id(frame), "")
            parent = frame.parent.call if frame.parent else None
            yield Call(
                frame.kind, frame.sender, frame.to, frame.value, frame.data, frame.result, slot, parent
            )

    def _enter(self, raw: Any, parent: RawFrame | None) -> RawFrame | None:
        """Return the frame to visit, or None if it took no effect or can't move value."""
        self._count_one()
        frame = raw if isinstance(raw, RawFrame) else self._read(raw)
        if frame.is_undone:
            return None
        frame.parent = parent
        if frame.kind in _RUNS_AS_CALLER and parent is not None:
            frame.call = parent.call
        elif frame.kind in _MOVING:
            self._note_call(frame)
        else:
            raise Untraceable(f"a call of an unknown kind: {frame.kind[:20]}")
        return frame

    def _read(self, raw: Any) -> RawFrame:
        if not isinstance(raw, dict):
            raise ChainError("the node's trace is malformed")
        return RawFrame(raw, self._whole_input_of)

    def _note_call(self, frame: RawFrame) -> None:
        frame.call = len(self.frames)
        self.frames.append(frame)
        beyond = max(len(frame.data) - _KEPT_INPUT, 0)
        if self._kept + beyond > _MAX_KEPT_WHOLE:
            frame.data, beyond, self.is_whole = frame.data[:_KEPT_INPUT], 0, False
        self._kept += beyond
        around: RawFrame | None = frame if frame.value and frame.sender != frame.to else None
        while around is not None and not around.moves_value:
            around.moves_value = True
            around = around.parent

    def _write_logs(self, frame: RawFrame, is_finished: bool) -> None:
        """Collect the logs that the frame wrote before its next call."""
        while frame.written < len(frame.logs):
            log = RawLog.read(frame.logs[frame.written])
            if frame.inner and log.position is None:
                self._has_order = False
            if not is_finished and (log.position or 0) > frame.seen:
                return
            self._count_one()
            self._has_logs = True
            self.logs.append(EmittedLog(log.address, log.topics, log.data, frame.call))
            frame.written += 1

    def _count_one(self) -> None:
        self._count += 1
        if self._count > MAX_FRAMES:
            raise Untraceable(f"more than {MAX_FRAMES} calls and logs")


def _slots(root: RawFrame) -> Iterator[tuple[int, str]]:
    stack = [(root, _ROOT)]
    while stack:
        frame, path = stack.pop()
        yield id(frame), _short(path)
        moving = [child for child in frame.inner if child is not None and child.moves_value]
        stack += [(child, f"{path}.{place}") for place, child in enumerate(moving)]


def _short(path: str) -> str:
    """Return the path, or its digest if it is too long."""
    return path if len(path) <= LONGEST_SLOT else f"{_ROOT}.{hashlib.sha256(path.encode()).hexdigest()}"


def _list(result: Any) -> list[Any]:
    if result is None:
        return []
    if not isinstance(result, list):
        raise ChainError("the node's trace is malformed")
    return result
