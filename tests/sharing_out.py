"""Which test process runs which tests: each file goes to one, the longest first, and the whole local world to the same.

A process that begins a file of two minutes when the others have nothing left makes everything wait for it, so a file
of few but long tests goes before one of many short ones.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController

_IN_THE_WORLD = "tests/browser/local_world"
# Rough seconds of the files that take much longer than the number of their tests says. The world begins at once, since
# it is the longest of all. Only the order depends on these figures.
_SECONDS = {
    _IN_THE_WORLD: 1000.0,
    "tests/integration/payments/workers/test_worker_lost.py": 140.0,
    "tests/integration/payments/workers/test_workers_and_database.py": 120.0,
    "tests/integration/properties/test_nobodys_money_goes_astray.py": 110.0,
    "tests/integration/chaos/test_chaos.py": 80.0,
    "tests/integration/webhooks/test_hostile_receivers.py": 60.0,
    "tests/integration/api/test_schemathesis.py": 50.0,
    "tests/integration/webhooks/test_workers_killed.py": 45.0,
    "tests/integration/payments/test_against_a_model.py": 45.0,
    "tests/integration/payments/workers/test_worker_killed.py": 45.0,
    "tests/integration/swaps/test_worker.py": 40.0,
    "tests/integration/clients/typescript/test_typescript.py": 40.0,
    "tests/integration/api/test_idempotency_crashes.py": 40.0,
}
_SECONDS_OF_A_TEST = 0.5


def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling":
    """A world takes a minute to start, and CPU time for as long as it runs: one is enough."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _IN_THE_WORLD if nodeid.startswith(f"{_IN_THE_WORLD}/") else super()._split_scope(nodeid)

        def _assign_work_unit(self, node: "WorkerController") -> None:
            longest = max(self.workqueue, key=lambda scope: _seconds(scope, len(self.workqueue[scope])))
            self.workqueue.move_to_end(longest, last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)


def _seconds(scope: str, tests: int) -> float:
    return _SECONDS.get(scope, tests * _SECONDS_OF_A_TEST)
