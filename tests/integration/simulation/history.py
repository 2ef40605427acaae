"""One history: random steps up to a limit, and the result once nothing is due."""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.core.cache import cache

from config.database.outages import is_outage
from payments.models import Payment
from tests.integration.properties.ledger import DEPTH
from tests.integration.simulation import work
from tests.integration.simulation.actors import Actor, Fault
from tests.integration.simulation.database import Database
from tests.integration.simulation.ending import Unfinished, come_to_rest
from tests.integration.simulation.environment import CLOCK, seed_chance
from tests.integration.simulation.invariants import violations
from tests.integration.simulation.outside import Nodes, Receiver
from tests.integration.simulation.overlaps import Overlaps
from tests.integration.simulation.people import Call, People
from tests.integration.simulation.scheduler import Deadlock, Scheduler, Trace
from tests.integration.simulation.stage import Stage

STEPS = 250
# Crashes right before or after a commit find most defects.
_AT_COMMITS = 10
# A paused worker misses this many steps of the others.
_PAUSED_STEPS = (20, 80)


@dataclass(frozen=True)
class Result:
    """The result of a history: its digest, its steps, the payments completed during the steps, and the errors."""

    seed: int
    digest: str
    steps: int
    completed: int
    found: tuple[str, ...]


class History:
    def __init__(
        self,
        seed: int,
        stage: Stage,
        workers: Sequence[Actor],
        webs: Sequence[Actor],
        database: Database,
        logged: "Logged",
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._seed = seed
        self._chance = chance = random.Random(seed)
        seed_chance(seed)
        database.empty()
        database.tell_time()
        cache.clear()
        for actor in [*workers, *webs]:
            actor.begin_history(chance)
        self._workers, self._webs, self._database, self._stage = workers, webs, database, stage
        self._trace = Trace(say)
        self._scheduler = Scheduler([*workers, *webs], database, chance, self._trace)
        self._overlaps = Overlaps()
        self._nodes = Nodes(CLOCK, chance=chance, overlaps=self._overlaps)
        self._receiver = Receiver(chance, self._overlaps)
        self._people = People(stage.merchants, stage.token, self._nodes, chance)
        self._jobs = work.jobs(self._nodes, self._receiver)
        self._calls: dict[Actor, Call] = {}
        self._problems: list[str] = []
        self._logged = logged
        self._completed = 0
        # Some histories have many faults of one kind and none of another. Two kinds together can hide a
        # defect.
        self._kills = chance.choice((0, 0.003, 0.01))
        self._cuts = chance.choice((0, 0.002, 0.01))
        self._kills_after_commits = chance.choice((0, 0.1, 0.4))
        self._was_commit: dict[Actor, bool] = {}
        self._paused: dict[Actor, int] = {}
        self._due: tuple[object, list[str]] = (None, [])
        self._events: list[tuple[Callable[[], str], float]] = [
            (self._go, 100),
            (self._people.act, chance.choice((2, 4))),
            (self._tick, chance.choice((2, 6))),
            (self._stall, chance.choice((0, 1, 3))),
            (self._pause, chance.choice((0, 2, 6))),
            (self._beat, chance.choice((0, 3, 8))),
            (self._mine, chance.choice((4, 8))),
            (self._reorganise, chance.choice((0, 0, 0.5, 1.5))),
            (self._switch_nodes, chance.choice((0, 0, 0.5))),
            (self._switch_receiver, chance.choice((0, 1))),
        ]

    def run(self) -> Result:
        """Run the history; return its result."""
        for _ in range(3):
            self._people.order()
        # Create payments first, so that workers have work.
        while self._people.waiting:
            self._people.waiting.pop(0)()
            self._nodes.mine()
        events, weights = zip(*self._events, strict=True)
        try:
            while self._trace.steps < STEPS:
                happened = self._chance.choices(events, weights)[0]()
                if happened:
                    self._trace.note(happened)
            self._end_calls()
            self._completed = Payment.objects.filter(status=Payment.Status.COMPLETED).count()
            come_to_rest(self._nodes, self._receiver, self._jobs, self._database, self._trace)
            self._problems += violations(self._nodes, self._receiver, self._database)
        except (Deadlock, Unfinished) as problem:
            self._problems.append(str(problem))
            self._scheduler.kill_all()
        self._problems += [*self._overlaps.found, *self._logged.take()]
        return Result(
            self._seed, self._trace.digest, self._trace.steps, self._completed, tuple(self._problems)
        )

    # --- steps
    # ---------------------------------------------------------------------------------------------------

    def _go(self) -> str:
        """Let one process continue, or start a job."""
        able = [*self._scheduler.ready(), *(each for each in self._workers if each.is_idle)]
        if self._people.waiting or self._calls:
            able += [each for each in self._webs if each.is_idle]
        awake = [each for each in able if self._paused.get(each, 0) <= self._trace.steps]
        actor = self._chance.choice(awake or able)
        if actor.is_idle:
            self._collect(actor)
            if not self._begin(actor):
                return ""
        self._scheduler.step(actor, self._fault(actor))
        return ""

    def _begin(self, actor: Actor) -> bool:
        """Give the idle process a job, if there is one."""
        if actor in self._workers:
            name = work.choose(self._chance, self._due_now())
            if name is None:
                return False
            actor.begin(name, self._jobs[name])
            return True
        if not self._people.waiting:
            return False
        call = self._people.waiting.pop(self._chance.randrange(len(self._people.waiting)))
        self._calls[actor] = call
        actor.begin(call.name, call)
        return True

    def _due_now(self) -> list[str]:
        """Return the queues with due work. They change only with a step or with time."""
        moment = self._trace.steps, CLOCK.time
        if self._due[0] != moment:
            self._due = moment, work.due(self._database)
        return self._due[1]

    def _collect(self, actor: Actor) -> None:
        """Handle the result of the idle process' last job."""
        call = self._calls.pop(actor, None)
        if call is not None and call.is_made_again:
            self._people.waiting.append(call)
        problem, actor.problem = actor.problem, None
        if problem is not None and not is_expected(problem):
            self._problems.append(f"{actor.name} failed: {problem!r}")

    def _fault(self, actor: Actor) -> Fault | None:
        is_commit, was_commit = actor.at == "COMMIT", self._was_commit.get(actor)
        more = _AT_COMMITS if is_commit or was_commit else 1
        self._was_commit[actor] = is_commit
        roll = self._chance.random()
        if roll < self._kills * more + (self._kills_after_commits if was_commit else 0):
            return Fault.KILLED
        if roll < (self._kills + self._cuts) * more:
            return self._chance.choice((Fault.CUT_BEFORE, Fault.CUT_AFTER))
        return None

    def _tick(self) -> str:
        self._scheduler.forward(self._chance.uniform(0.05, 4))
        return ""

    def _stall(self) -> str:
        """Let time pass while all processes pause, longer than a lease."""
        self._scheduler.forward(self._chance.choice((10.5, 20, 60, 130)))
        return ""

    def _pause(self) -> str:
        """Pause one worker during a call to the outside, for longer than its lease. The others continue."""
        calling = [each for each in self._workers if each.is_calling]
        if not calling:
            return ""
        actor = self._chance.choice(calling)
        self._paused[actor] = self._trace.steps + self._chance.randint(*_PAUSED_STEPS)
        self._stall()
        return f"{actor.name} is paused"

    def _beat(self) -> str:
        actor = self._chance.choice(self._workers)
        work.beat(actor)
        return f"heartbeat of {actor.name}"

    def _mine(self) -> str:
        self._nodes.mine()
        if self._chance.random() < 0.5:
            self._people.waiting.append(Call("new block", work.new_block(self._stage.chain.pk)))
        return f"block {self._nodes.height}"

    def _reorganise(self) -> str:
        self._nodes.reorganise(
            self._chance.randint(1, DEPTH + 1), drop=self._chance.random() < 0.3, flip=False
        )
        return f"reorganised to {self._nodes.height}"

    def _switch_nodes(self) -> str:
        self._nodes.is_down = not self._nodes.is_down
        return f"nodes are {'down' if self._nodes.is_down else 'up'}"

    def _switch_receiver(self) -> str:
        self._receiver.failing = 0.0 if self._receiver.failing else self._chance.choice((0.3, 1.0))
        return f"the receiver fails {self._receiver.failing}"

    def _end_calls(self) -> None:
        """Finish all jobs and all waiting calls."""
        self._nodes.is_down = False
        self._scheduler.finish(self._fault)
        for actor in [*self._workers, *self._webs]:
            self._collect(actor)
        while self._people.waiting:
            self._begin(self._webs[0])
            self._scheduler.finish(self._fault)
            self._collect(self._webs[0])


class Logged(logging.Handler):
    """Exceptions that the product caught and logged, without those that a simulated fault explains."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        problem = record.exc_info[1] if record.exc_info else None
        if problem is not None and not is_expected(problem):
            self._found.append(f"{record.getMessage()}: {problem!r}")

    def take(self) -> list[str]:
        """Return the exceptions and clear them."""
        found, self._found = self._found, []
        return found


def is_expected(problem: BaseException) -> bool:
    """Whether a simulated fault explains that a job ended with this exception."""
    causes: BaseException | None = problem
    while causes is not None:
        if is_outage(causes):
            return True
        causes = causes.__cause__
    return False
