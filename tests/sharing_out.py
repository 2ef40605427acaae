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
# Seconds, on a busy machine, of the files that take longer than the number of their tests suggests. The world comes
# first, since it takes longest. Only the order depends on these figures.
_SECONDS = {
    _IN_THE_WORLD: 560.0,
    "tests/integration/payments/workers/test_worker_lost.py": 204.0,
    "tests/integration/nodes/loud/test_loud_payments_by_each_kind_of_node.py": 171.0,
    "tests/browser/accessibility/test_languages.py": 117.0,
    "tests/integration/payments/workers/test_workers_and_database.py": 106.0,
    "tests/integration/nodes/loud/test_narrow_log_queries.py": 100.0,
    "tests/browser/checkout/test_without_scripts.py": 82.0,
    "tests/integration/nodes/test_small_batches.py": 81.0,
    "tests/integration/properties/test_nobodys_money_goes_astray.py": 80.0,
    "tests/integration/chaos/test_chaos.py": 80.0,
    "tests/integration/payments/test_submission_caps.py": 30.0,
    "tests/browser/wallets/test_page_states.py": 72.0,
    "tests/integration/payments/workers/test_races.py": 62.0,
    "tests/browser/walletconnect/test_ending.py": 59.0,
    "tests/browser/wallets/connecting/test_one_list.py": 58.0,
    "tests/integration/payments/test_against_a_model.py": 57.0,
    "tests/browser/wallets/changing/test_replacing.py": 56.0,
    "tests/browser/accessibility/test_proof_by_hand.py": 55.0,
    "tests/browser/accessibility/test_states.py": 53.0,
    "tests/browser/walletconnect/test_solana.py": 48.0,
    "tests/integration/swaps/test_bad_outcomes.py": 48.0,
    "tests/integration/webhooks/test_workers_killed.py": 47.0,
    "tests/integration/api/test_schemathesis.py": 46.0,
    "tests/browser/wallets/test_proof_by_hand.py": 46.0,
    "tests/browser/embedding/test_in_place.py": 41.0,
}
_SECONDS_OF_A_TEST = 1.0


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
