"""Runners have one thread per lane. No wake-up is lost, and a thread ends after its batch."""

import threading
from collections.abc import Iterator
from queue import Empty, Queue
from typing import Any
from unittest.mock import Mock

import pytest

from config.due_work.runner import Runner, Ticker, stop_all
from tests.processes import eventually

SECONDS = 30


class Work:
    """Batches by lane. A lane's batch waits while the test holds the lane, and fails if the test says so."""

    def __init__(self) -> None:
        self.due: dict[str, int] = {}
        self.batches: Queue[str] = Queue()
        self.held: dict[str, threading.Event] = {}
        self.errors: dict[str, BaseException] = {}

    def __call__(self, lane: str) -> int:
        self.batches.put(lane)
        if lane in self.held:
            assert self.held[lane].wait(SECONDS)
        if lane in self.errors:
            raise self.errors.pop(lane)
        self.due[lane] = max(self.due.get(lane, 0) - 1, 0)
        return self.due[lane]

    def hold(self, lane: str) -> threading.Event:
        return self.held.setdefault(lane, threading.Event())

    def begun(self) -> str:
        return self.batches.get(timeout=SECONDS)

    def is_quiet(self) -> bool:
        try:
            self.batches.get_nowait()
        except Empty:
            return True
        return False


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def runner(work: Work) -> Iterator[Runner[str]]:
    runner = Runner("test", work, lanes=lambda: [lane for lane, due in work.due.items() if due])
    yield runner
    for held in work.held.values():
        held.set()
    stop_all([runner], SECONDS)


def until_idle(runner: Runner[str]) -> None:
    eventually(lambda: not runner.busy, "all threads have ended")


def test_hanging_lane_delays_no_other(runner: Runner[str], work: Work) -> None:
    work.due = {"slow": 1, "quick": 3}
    work.hold("slow")
    assert runner.nudge() == 2
    assert sorted(work.begun() for _ in range(4)) == ["quick", "quick", "quick", "slow"]
    eventually(lambda: runner.busy == {"slow"}, "the quick lane has ended")
    assert runner.nudge() == 0, "one thread for each lane"
    assert runner.wake("quick")
    assert work.begun() == "quick"


def test_lane_takes_batches_until_none_is_due(runner: Runner[str], work: Work) -> None:
    work.due = {"a": 5}
    assert runner.nudge() == 1
    until_idle(runner)
    assert (work.batches.qsize(), work.due) == (5, {"a": 0})
    assert runner.nudge() == 0, "nothing is due"


def test_wake_during_a_batch_runs_another(runner: Runner[str], work: Work) -> None:
    held = work.hold("a")
    runner.wake("a")
    assert work.begun() == "a"
    assert not runner.wake("a")
    assert not runner.wake("a"), "two wakes count as one"
    held.set()
    assert work.begun() == "a"
    until_idle(runner)
    assert work.is_quiet()


def test_lingering_thread_is_woken_again(work: Work) -> None:
    runner = Runner("test", work, lanes=list, linger_seconds=SECONDS)
    try:
        assert runner.wake("a")
        assert work.begun() == "a"
        assert not runner.wake("a")
        assert work.begun() == "a"
        assert runner.busy == {"a"}
    finally:
        stop_all([runner], SECONDS)
    assert runner.busy == set(), "stopping ends the wait"


def test_failed_batch_is_logged_and_the_next_wake_runs_it(
    runner: Runner[str], work: Work, caplog: pytest.LogCaptureFixture
) -> None:
    work.errors["a"] = RuntimeError("a mistake of ours")
    held = work.hold("a")
    runner.wake("a")
    assert work.begun() == "a"
    assert not runner.wake("a"), "a wake during the failing batch counts"
    assert runner.wake("b"), "no other lane is concerned"
    assert work.begun() == "b"
    held.set()
    assert work.begun() == "a"
    until_idle(runner)
    assert "test-a failed" in caplog.text
    assert runner.wake("a")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_dead_thread_is_replaced(runner: Runner[str], work: Work) -> None:
    work.errors["a"] = KeyboardInterrupt()
    runner.wake("a")
    until_idle(runner)
    assert runner.wake("a")
    until_idle(runner)
    assert work.batches.qsize() == 2


def test_lane_is_free_if_its_thread_could_not_start(
    runner: Runner[str], work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_threads(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_more_threads)
        with pytest.raises(RuntimeError):
            runner.wake("a")
    assert runner.wake("a")
    assert work.begun() == "a"


def test_stopping_ends_lanes_after_their_batches(runner: Runner[str], work: Work) -> None:
    work.due = {"a": 9}
    held = work.hold("a")
    runner.nudge()
    assert work.begun() == "a"
    stopping = threading.Thread(target=stop_all, args=([runner], SECONDS))
    stopping.start()
    eventually(lambda: not runner.wake("b"), "it starts no more threads")
    held.set()
    stopping.join(SECONDS)
    assert not stopping.is_alive()
    assert (runner.busy, work.due["a"]) == (set(), 8)
    assert not runner.wake("a")


def test_stopping_waits_no_longer_than_asked(runner: Runner[str], work: Work) -> None:
    work.hold("a")
    runner.wake("a")
    assert work.begun() == "a"
    stop_all([runner], 0)
    assert runner.busy == {"a"}


def test_runner_without_nudges_is_nudged_by_the_ticker(runner: Runner[str], work: Work) -> None:
    work.due["a"] = 1
    ticker = Ticker([runner], after_seconds=0.05)
    ticker.start()
    try:
        assert work.begun() == "a"
    finally:
        ticker.stop()


def test_ticker_leaves_a_runner_that_tasks_nudge(runner: Runner[str], work: Work) -> None:
    runner.nudge()
    work.due["a"] = 1
    Ticker([runner], after_seconds=3600).tick()
    assert work.is_quiet()


def test_ticker_survives_a_queue_that_can_not_be_read(work: Work) -> None:
    lanes = Mock(side_effect=[OSError("no database"), ["a"], *[[]] * 1000])
    broken: Runner[str] = Runner("test", work, lanes=lanes)
    ticker = Ticker([broken], after_seconds=0.02)
    ticker.start()
    try:
        assert work.begun() == "a"
    finally:
        ticker.stop()
        stop_all([broken], SECONDS)
