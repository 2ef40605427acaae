"""Calls are put into batches. The code has no side effects except time, and a function plays the node."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from chains.client import ChainError
from chains.rpc import batches
from chains.rpc.batches import Batches, Unread, UnreadReason
from chains.rpc.nodes import FIRST_LIMIT_SECONDS, Limiting, Node
from chains.rpc.transport import Call, NoResponse, Rejected, RpcFault, TooLarge

SIZES = {"plain": 10, "oversized": 10_000}
ROOM = 1000


class Scripted:
    """A node: its responses to some calls, and whether it is up."""

    def __init__(
        self,
        answer: Callable[[Sequence[Call], int], list[Any]],
        *,
        is_alive: bool = True,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.node = Node("http://node")
        self.asked: list[int] = []
        self._answer = answer
        self._is_alive = is_alive
        self._clock = clock
        self._lock = threading.Lock()

    def ask(self, calls: Sequence[Call], *, isolating: bool = True, at_once: int = 100) -> list[Any]:
        def send(part: Sequence[Call], max_bytes: int) -> list[Any]:
            with self._lock:
                self.asked.append(len(part))
            return self._answer(part, max_bytes)

        batches = Batches(
            self.node, send, lambda: self._is_alive, self._clock, max_bytes=ROOM, isolating=isolating
        )
        return batches.results(calls, at_once)


def calls(count: int, **special: int) -> list[Call]:
    """Return calls named "plain", except those at the given places."""
    names = {place: name for name, place in special.items()}
    return [(names.get(place, "plain"), [place]) for place in range(count)]


def echo(part: Sequence[Call]) -> list[Any]:
    return [params[0] for _, params in part]


def by_size(part: Sequence[Call], room: int) -> list[Any]:
    if sum(SIZES[name] for name, _ in part) > room:
        raise TooLarge("too large")
    return echo(part)


def whys(results: Sequence[Any]) -> dict[int, UnreadReason]:
    return {place: result.reason for place, result in enumerate(results) if isinstance(result, Unread)}


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10, 50, 99])
def test_every_limit_is_found_and_kept_to(limit: int) -> None:
    def answer(part: Sequence[Call], _: int) -> list[Any]:
        if len(part) > limit:
            raise Rejected("too many")
        return echo(part)

    scripted = Scripted(answer)
    assert scripted.ask(calls(250)) == list(range(250))
    assert limit // 2 < (scripted.node.batch_limit(0.0) or 0) <= limit
    assert sum(size > limit for size in scripted.asked) <= 8
    scripted.asked.clear()
    assert scripted.ask(calls(250)) == list(range(250))
    assert max(scripted.asked) <= limit


@pytest.mark.parametrize("place", [0, 1, 40, 99, 150])
def test_a_large_answer_is_found_and_the_others_are_read(place: int) -> None:
    scripted = Scripted(by_size)
    results = scripted.ask(calls(200, oversized=place))
    assert whys(results) == {place: UnreadReason.LARGE}
    assert [result for result in results if not isinstance(result, Unread)] == [
        n for n in range(200) if n != place
    ]
    assert scripted.node.batch_limit(0.0) is None
    assert len(scripted.asked) < 30


@pytest.mark.parametrize("place", [0, 40, 99, 150])
def test_a_call_that_fails_by_itself_is_no_limit(place: int) -> None:
    def answer(part: Sequence[Call], _: int) -> list[Any]:
        if any(name == "bad" for name, _ in part):
            raise Rejected("HTTP 500")
        return echo(part)

    scripted = Scripted(answer)
    assert whys(scripted.ask(calls(200, bad=place))) == {place: UnreadReason.FAILED}
    assert scripted.node.batch_limit(0.0) is None
    assert len(scripted.asked) < 40


def test_what_the_node_itself_calls_too_large_is_asked_for_alone() -> None:
    fault = RpcFault(-32003, "response too large")

    def answer(part: Sequence[Call], _: int) -> list[Any]:
        if len(part) == 1:
            return [fault if part[0][0] == "oversized" else part[0][1][0]]
        cut = next((place for place, (name, _) in enumerate(part) if name == "oversized"), len(part))
        return [*echo(part[:cut]), *[fault] * (len(part) - cut)]

    assert whys(Scripted(answer).ask(calls(20, oversized=5))) == {5: UnreadReason.LARGE}


@pytest.mark.parametrize(
    "error", [Rejected("HTTP 500"), NoResponse("no answer"), TooLarge("100 MB of blanks")]
)
@pytest.mark.parametrize("isolating", [True, False])
def test_a_node_that_is_down_is_asked_once(error: ChainError, isolating: bool) -> None:
    def answer(part: Sequence[Call], _: int) -> list[Any]:
        raise error

    scripted = Scripted(answer, is_alive=False)
    with pytest.raises(type(error)):
        scripted.ask(calls(100), isolating=isolating)
    assert len(scripted.asked) == 1


def test_a_node_that_fails_every_call_is_given_up_soon() -> None:
    def answer(part: Sequence[Call], _: int) -> list[Any]:
        raise Rejected("HTTP 500")

    scripted = Scripted(answer)
    results = scripted.ask(calls(100))
    assert sorted(reason.name for reason in whys(results).values()) == ["FAILED"] * 3 + ["SKIPPED"] * 97
    assert len(scripted.asked) < 40
    assert scripted.node.batch_limit(0.0) is None
    with pytest.raises(Rejected):
        scripted.ask(calls(100), isolating=False)


@pytest.mark.parametrize("count", [1, 10])
def test_a_rate_limit_is_the_nodes_and_raised(count: int) -> None:
    def answer(part: Sequence[Call], _: int) -> list[Any]:
        raise Limiting("slow down", retry_after=7)

    scripted = Scripted(answer)
    with pytest.raises(Limiting):
        scripted.ask(calls(count))
    assert scripted.asked == [count]


def test_batch_not_split_in_time_is_left_for_single_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a slow line, every lookup would start again from the beginning, and none would find the failing call."""
    monkeypatch.setattr(batches, "SPLITTING_SECONDS", -1.0)

    def answer(part: Sequence[Call], room: int) -> list[Any]:
        return by_size(part, room)

    scripted = Scripted(answer)
    with pytest.raises(ChainError):
        scripted.ask(calls(10, oversized=3))
    results = scripted.ask(calls(150, oversized=120))
    assert set(whys(results)) == set(range(100, 150))
    assert set(whys(results).values()) == {UnreadReason.BESIDE_LARGE}, "which one it is, is not known"


def test_non_isolating_batch_is_halved_and_raises_too_large() -> None:
    assert Scripted(by_size).ask(calls(150), isolating=False) == list(range(150))
    with pytest.raises(TooLarge):
        Scripted(by_size).ask(calls(150, oversized=3), isolating=False)


def test_lifted_batch_limit_does_not_lengthen_the_next_pause() -> None:
    """Otherwise, occasional short faults would lead to hours of single calls."""
    refuses = True
    now = 0.0

    def answer(part: Sequence[Call], _: int) -> list[Any]:
        if refuses and len(part) > 1:
            raise Rejected("HTTP 500")
        return echo(part)

    scripted = Scripted(answer, clock=lambda: now)
    for _ in range(4):
        refuses = True
        scripted.ask(calls(20))
        assert scripted.node.batch_limit(now) == 1
        now += FIRST_LIMIT_SECONDS
        assert scripted.node.batch_limit(now) is None
        refuses = False
        assert scripted.ask(calls(20)) == list(range(20))


@pytest.mark.parametrize(
    "message",
    [
        "failed to get response: context deadline exceeded",
        "response quota exceeded for this month",
        "no response from upstream: retries exceeded",
        "response: rate limit exceeded",
    ],
)
def test_node_timeout_or_quota_error_is_not_too_large_response(message: str) -> None:
    scripted = Scripted(lambda part, _: [RpcFault(-32000, message) for _ in part])
    assert whys(scripted.ask(calls(2))) == {}


@pytest.mark.parametrize(
    "message",
    [
        "response too large",
        "Response size exceeded",
        "response is too big",
        "response exceeds the limit of 10485760 bytes",
        "Log response size exceeded. You can make requests with up to a 2K block range",
    ],
)
def test_a_node_that_names_its_answers_size_calls_it_too_large(message: str) -> None:
    scripted = Scripted(lambda part, _: [RpcFault(-32000, message) for _ in part])
    assert set(whys(scripted.ask(calls(2))).values()) == {UnreadReason.LARGE}
