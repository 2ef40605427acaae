"""Choose the next process, its fault and the time of each step, with one random number generator."""

import hashlib
import random
from collections.abc import Callable, Sequence
from datetime import timedelta

from tests.integration.simulation.actors import Actor, Fault
from tests.integration.simulation.database import Database
from tests.integration.simulation.environment import CLOCK


class Deadlock(Exception):
    """Processes wait for one another's locks."""


class Trace:
    """A history's steps and their digest."""

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self._digest = hashlib.sha256()
        self._say = say
        self.steps = 0

    def note(self, step: str) -> None:
        """Add a step with its start time."""
        line = f"{CLOCK.elapsed:12.3f} {step}"
        self._digest.update(line.encode() + b"\n")
        self.steps += 1
        if self._say is not None:
            self._say(line)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()[:16]


class Scheduler:
    """Runs actors, one at a time."""

    def __init__(
        self, actors: Sequence[Actor], database: Database, chance: random.Random, trace: Trace
    ) -> None:
        self._actors = actors
        self._database = database
        self._chance = chance
        self.trace = trace

    def ready(self) -> list[Actor]:
        """Return the actors that can run: they have a job and don't wait for a lock."""
        return [each for each in self._actors if not each.is_idle and not each.is_blocked]

    def idle(self) -> list[Actor]:
        return [each for each in self._actors if each.is_idle]

    def step(self, actor: Actor, fault: Fault | None = None) -> None:
        """Run the actor to its next stop. Then run the actors that waited for locks which it released."""
        self.trace.note(f"{actor.name}: [{actor.result}] {fault + ' ' if fault else ''}{actor.at}")
        actor.go(fault, self._database.is_blocked)
        for other in self._actors:
            if other.is_blocked and other is not actor:
                other.settle(self._database.is_blocked)
        if actor.is_blocked:
            self.trace.note(f"{actor.name}: waits for a lock")
            self._require_no_cycle(actor)

    def finish(self, fault: Callable[[Actor], Fault | None]) -> None:
        """Finish all jobs in a random order, with these faults."""
        while ready := self.ready():
            actor = self._chance.choice(ready)
            self.step(actor, fault(actor))
        if len(self.idle()) < len(self._actors):
            raise Deadlock("processes wait for locks that none of them will release")

    def kill_all(self) -> None:
        """Kill all busy processes, because they wait for each other. The next history starts with idle ones."""
        busy = [each for each in self._actors if not each.is_idle]
        for actor in busy:
            actor.is_dead = True
        for actor in busy:
            self._database.end_session(actor.pid)
        for actor in busy:
            if actor.is_blocked:
                actor.settle(_is_never_blocked)
            else:
                actor.go(Fault.KILLED, _is_never_blocked)

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        CLOCK.forward(timedelta(seconds=round(seconds, 3)))
        self._database.tell_time()
        self.trace.note("the clock")

    def _require_no_cycle(self, first: Actor) -> None:
        blocked = {each.pid: each for each in self._actors if each.is_blocked}
        seen: set[int] = set()
        waiting = [first.pid]
        while waiting:
            for pid in self._database.blockers(waiting.pop()):
                if pid == first.pid:
                    stops = "; ".join(f"{each.name} at {each.at}" for each in blocked.values())
                    raise Deadlock(f"a deadlock: {stops}")
                if pid in blocked and pid not in seen:
                    seen.add(pid)
                    waiting.append(pid)


def _is_never_blocked(pid: int) -> bool:
    return False
