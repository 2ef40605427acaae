"""Make payments while every process is killed: `make chaos` (PAYMENTS=1000), a few minutes.

Prints each fault with its time and its recovery, the time that everything took after the last fault, and the
checker's findings.

Exit status 1 if anything was lost or doubled. Also if the last event took more than 20 seconds, counted from
the last fault or the last submission, whichever is later. `LIMIT=60` allows more on a slow machine. With
`FAULTS=failover`, PostgreSQL and Redis stay up but reject writes.
"""

import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.integration.chaos import checker, failover
from tests.integration.chaos.customers import Crowd
from tests.integration.chaos.world import (
    CLOCKS,
    CLOCKS_BACK,
    FLUSH,
    FULL_DISK,
    KILLABLE,
    ROLLING,
    SECOND_BEAT,
    STALL,
    VANISHED,
    VANISHED_REDIS,
    World,
)
from tests.support.webhooks.receiver import Receiver, running_receiver

COMPLETE_WITHIN = 20.0
LATE_SHARE = 0.15
REFUND_SHARE = 0.1
_DOWN_SECONDS = 0.5
_POLL_SECONDS = 0.1
_LONGEST_SECONDS = 600.0
# For runs with 10,000 customers, which take turns.
_LONGEST_SECONDS_EACH = 0.3
_AFTERWARDS_SECONDS = 120.0
_SAY_EVERY_SECONDS = 5.0
_FAILOVER_SECONDS = 15.0
# An idle thread of a worker keeps its connection for half a minute.
_LEFT_SECONDS = 120.0
# The faults to make when this share of the hashes is submitted. The last fault falls into a burst of
# submissions.
SCHEDULE: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.05, ("worker 1",)),
    (0.08, (FLUSH,)),
    (0.10, (CLOCKS,)),
    (0.12, ("PostgreSQL",)),
    (0.16, (STALL,)),
    (0.20, ("web",)),
    (0.28, ("Redis",)),
    (0.32, (SECOND_BEAT,)),
    (0.36, ("beat",)),
    (0.40, (ROLLING,)),
    (0.44, ("worker 1", "worker 2")),
    (0.48, (VANISHED,)),
    (0.50, (CLOCKS_BACK,)),
    (0.52, ("PostgreSQL", "worker 2")),
    (0.56, (STALL,)),
    (0.58, (VANISHED_REDIS,)),
    (0.60, ("Redis", "beat")),
    (0.64, (ROLLING,)),
    (0.66, (FULL_DISK,)),
    (0.68, ("web", "worker 1", "PostgreSQL")),
    (0.72, (VANISHED,)),
    (0.76, KILLABLE),
    (0.84, (FLUSH,)),
    (0.92, ("worker 1", "PostgreSQL", "Redis")),
)
SHORT: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.1, (SECOND_BEAT,)),
    (0.2, (FLUSH,)),
    (0.3, ("worker 1", "web", "Redis")),
    (0.5, (STALL,)),
    (0.6, (FULL_DISK,)),
    (0.7, (ROLLING,)),
    (0.9, ("worker 1", "beat", "PostgreSQL")),
)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Times are seconds after the last fault until everything was submitted, completed and delivered.
    """

    payments: int
    faults_made: int
    submitted_after: float | None
    completed_after: float | None
    delivered_after: float | None
    sent_again: int
    found: list[str]
    # Each fault, with the seconds until the next payment was completed. Faults without a later payment are
    # left out.
    recoveries: list[tuple[str, float]]
    calls: int

    def is_good(self, limit: float) -> bool:
        """Whether nothing was lost or doubled, and everything was delivered within the limit.

        A payment can't complete before it is submitted. So the limit counts from the last fault or the last
        submission, whichever is later.
        """
        if self.found or self.delivered_after is None or self.submitted_after is None:
            return False
        return self.delivered_after - self.submitted_after <= limit


def run(
    payments: int,
    schedule: Sequence[tuple[float, tuple[str, ...]]],
    folder: Path,
    say: Say,
    *,
    failover_seconds: float = 0,
) -> Result:
    """Make payments under these faults; return the result with the checker's findings.

    Faults of `failover` last for `failover_seconds`. In such a run, no process may end.
    """
    with running_receiver() as receiver:
        world = World(folder, receiver.url)
        try:
            return _run(world, receiver, payments, schedule, say, failover_seconds)
        finally:
            world.stop()


def _run(
    world: World,
    receiver: Receiver,
    payments: int,
    schedule: Sequence[tuple[float, tuple[str, ...]]],
    say: Say,
    failover_seconds: float,
) -> Result:
    if failover_seconds:
        world.start("events")
    late, refunds = round(payments * LATE_SHARE), round(payments * REFUND_SHARE)
    crowd = Crowd(world.url, world.key, world.chain, payments, late=late, refunds=refunds)
    problems: list[BaseException] = []

    def pay() -> None:
        try:
            crowd.pay_all(threads=2 if failover_seconds else 8)  # faults of a failover last for longer
        except BaseException as problem:
            problems.append(problem)

    paying = threading.Thread(target=pay)
    progress = _Progress(world.database_url)
    faults_at: list[tuple[str, float]] = []
    began_at = last_fault_at = time.monotonic()
    paying.start()
    progress.start()
    processes = world.processes()
    for share, names in schedule:
        while crowd.submitted < share * payments and not problems:
            if time.monotonic() - began_at > max(_LONGEST_SECONDS, payments * _LONGEST_SECONDS_EACH):
                raise TimeoutError(f"only {crowd.submitted} of {payments} payments were submitted")
            time.sleep(0.01)
        done = checker.count(world.database_url)
        last_fault_at = time.monotonic()
        faults_at.append((", ".join(names), last_fault_at))
        completed = done.payments if done else "?"
        at = f"{last_fault_at - began_at:6.1f} s  {crowd.submitted} submitted, {completed} completed"
        if names[0] in KILLABLE:
            world.kill(*names)
            say(f"{at}: killed {', '.join(names)}")
            time.sleep(_DOWN_SECONDS)
            world.restart(*names)
        elif names[0] in failover.FAULTS:
            say(f"{at}: {names[0]}")
            faults_at[-1] = names[0], failover.make(world, names[0], failover_seconds)
            last_fault_at = time.monotonic()
        else:
            say(f"{at}: {names[0]}")
            world.make(names[0])
            last_fault_at = time.monotonic()
    submitted_after, completed_after, delivered_after = _wait(world, crowd, refunds, last_fault_at, say)
    paying.join(_AFTERWARDS_SECONDS)
    progress.end()
    found = [f"a customer could not pay: {problem!r}" for problem in problems]
    found += [f"{crowd.statuses[500]} calls returned 500"] if crowd.statuses[500] else []
    if failover_seconds:
        ended = {name: ids - world.processes()[name] for name, ids in processes.items()}
        found += [f"processes of {name} ended: {ids}" for name, ids in ended.items() if ids]
        if not failover.are_left(world, _LEFT_SECONDS):
            found.append("a connection to the demoted primary is still open")
        say(", ".join(f"{name}: {world.log_lines(name)} lines logged" for name in processes))
    found += checker.faults(crowd.customers, world.database_url, world.chain, receiver.received, world.secret)
    return Result(
        payments,
        len(schedule),
        submitted_after,
        completed_after,
        delivered_after,
        len(receiver.received) - payments - refunds,
        found,
        progress.recoveries(faults_at),
        crowd.statuses.total(),
    )


class _Progress(threading.Thread):
    """Records the number of completed payments over time."""

    def __init__(self, database_url: str) -> None:
        super().__init__(daemon=True)
        self._database_url = database_url
        self._is_over = threading.Event()
        self._seen: list[tuple[float, int]] = []

    def run(self) -> None:
        while not self._is_over.wait(_POLL_SECONDS):
            if done := checker.count(self._database_url):
                self._seen.append((time.monotonic(), done.payments))

    def end(self) -> None:
        self._is_over.set()
        self.join()

    def recoveries(self, faults_at: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
        """Return the seconds from each fault to the next completed payment."""
        found = []
        for fault, fault_at in faults_at:
            before = max((count for at, count in self._seen if at <= fault_at), default=0)
            after = [at for at, count in self._seen if at > fault_at and count > before]
            found += [(fault, after[0] - fault_at)] if after else []
        return found


def _wait(
    world: World, crowd: Crowd, refunds: int, since: float, say: Say
) -> tuple[float | None, float | None, float | None]:
    """Return the seconds from the last fault until all were submitted, completed and delivered; None if never."""
    customers = len(crowd.customers)
    payments = customers + refunds
    submitted_after = completed_after = None
    said_after = 0.0
    while (after := time.monotonic() - since) < _AFTERWARDS_SECONDS:
        if submitted_after is None and crowd.submitted >= customers and crowd.refunded >= refunds:
            submitted_after = after
        done = checker.count(world.database_url)
        if done and done.payments >= payments and done.requests >= payments:
            completed_after = completed_after or after
            if done.delivered >= payments:
                return submitted_after, completed_after, after
        if after - said_after >= _SAY_EVERY_SECONDS:
            said_after = after
            sent = f"{crowd.submitted} and {crowd.refunded} refunds submitted"
            come = f"{done.payments} completed, {done.delivered} delivered" if done else "no PostgreSQL"
            say(f"{after:6.1f} s  after the last fault: {sent}, {come}, of {payments}")
        time.sleep(_POLL_SECONDS)
    return submitted_after, completed_after, None


def main() -> int:
    """Run with 1,000 payments or PAYMENTS; print the figures."""
    payments = int(os.environ.get("PAYMENTS", "1000"))
    folder = Path(tempfile.mkdtemp(prefix="quittance-chaos-"))
    is_failover = os.environ.get("FAULTS") == "failover"
    result = run(
        payments,
        failover.SCHEDULE if is_failover else SCHEDULE,
        folder,
        lambda line: print(line, flush=True),
        failover_seconds=_FAILOVER_SECONDS if is_failover else 0,
    )
    for line in result.found[:20]:
        print(f"WRONG: {line}")
    print(
        f"{result.payments} payments, {result.calls} calls, {result.faults_made} faults: {len(result.found)} wrong, "
        f"all submitted {_seconds(result.submitted_after)}, completed {_seconds(result.completed_after)} and delivered "
        f"{_seconds(result.delivered_after)} after the last fault, {result.sent_again} events sent again"
    )
    if len(result.recoveries) > 1:
        for fault, seconds in result.recoveries:
            print(f"{seconds:5.1f} s  {fault}")
        ordered = sorted(seconds for _, seconds in result.recoveries)
        p50, p95 = statistics.median(ordered), statistics.quantiles(ordered, n=20, method="inclusive")[-1]
        print(
            f"From a fault to the next completed payment: p50 {p50:.1f} s, p95 {p95:.1f} s, "
            f"longest {ordered[-1]:.1f} s ({len(ordered)} faults)"
        )
    is_good = result.is_good(float(os.environ.get("LIMIT", COMPLETE_WITHIN)))
    if is_good:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"Logs: {folder}")
    return 0 if is_good else 1


def _seconds(seconds: float | None) -> str:
    return "not" if seconds is None else f"{seconds:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
