"""Distribute tests over test processes: by file, slow files first.

If a process starts a file of two minutes last, all others wait for it. So a file with few long tests comes
before one with many short tests.

Some files start the product's own processes, up to a dozen at a time. Two test processes get these files, so that at
most two of them run at once: with five, tests on two cores wait longer than their time limits.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling
    from xdist.workermanage import WorkerController

# Each lane's files run in one test process, one after the other. The seconds are those of a busy machine. A folder's
# tests count as one file.
_LANES: dict[str, dict[str, float]] = {
    "lane 1": {
        "tests/browser/local_world": 260.0,
        "tests/integration/chaos/test_chaos.py": 69.0,
        "tests/integration/operations/test_switching_processes.py": 33.0,
        "tests/integration/payments/sponsoring/test_workers_killed.py": 100.0,
        "tests/integration/solana/sponsoring/test_workers_killed.py": 36.0,
    },
    "lane 2": {
        "tests/integration/operations/test_deployment.py": 110.0,
        "tests/integration/operations/test_doctor_database.py": 30.0,
        "tests/integration/payments/workers/test_worker_lost.py": 180.0,
        "tests/integration/simulation/test_simulator.py": 120.0,
        "tests/integration/webhooks/test_workers_killed.py": 110.0,
    },
}
# Seconds on a busy machine, for other files that take longer than their number of tests suggests. The figures only
# determine the order.
_SECONDS = {
    "tests/browser/walletconnect/test_ending.py": 60.0,
    "tests/browser/portal/test_keys_and_theme.py": 40.0,
    "tests/browser/accessibility/test_languages.py": 50.0,
    "tests/integration/nodes/test_small_batches.py": 15.0,
    "tests/browser/accessibility/test_states.py": 50.0,
    "tests/browser/docs/test_site.py": 75.0,
    "tests/integration/payments/query_plans/test_query_plans.py": 74.0,
    "tests/integration/checkout/streams/test_event_streams.py": 50.0,
    "tests/integration/properties/test_nobodys_money_goes_astray.py": 57.0,
    "tests/integration/swaps/test_bad_outcomes.py": 56.0,
    "tests/integration/api/test_schemathesis.py": 51.0,
    "tests/integration/threats/nodes/test_t21_fault_matrix.py": 30.0,
    "tests/integration/docs/test_site.py": 48.0,
    "tests/browser/wallets/test_page_states.py": 25.0,
    "tests/integration/payments/refunds/test_random_refunds.py": 40.0,
    "tests/integration/demo/test_commands.py": 18.0,
    "tests/browser/checkout/test_without_scripts.py": 39.0,
    "tests/integration/payments/workers/test_races.py": 38.0,
    "tests/integration/observe/test_sinks.py": 25.0,
    "tests/integration/observe/test_traces.py": 25.0,
    "tests/integration/payments/workers/test_worker_killed.py": 33.0,
    "tests/browser/wallets/changing/test_replacing.py": 20.0,
    "tests/integration/clients/typescript/test_typescript.py": 28.0,
    "tests/integration/payments/refunds/test_creating_refunds.py": 24.0,
    "tests/integration/swaps/test_worker.py": 19.0,
    "tests/integration/properties/test_refund_histories.py": 19.0,
    "tests/integration/payments/test_against_a_model.py": 18.0,
}
_SECONDS_OF_A_TEST = 1.0
_LANE_OF = {place: lane for lane, places in _LANES.items() for place in places}


def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling":
    """Share the tests out by lane or by file, and start the longest first."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _LANE_OF.get(_file_of(nodeid)) or super()._split_scope(nodeid)

        def _assign_work_unit(self, node: "WorkerController") -> None:
            longest = max(self.workqueue, key=lambda scope: _seconds(scope, len(self.workqueue[scope])))
            self.workqueue.move_to_end(longest, last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)


def _file_of(nodeid: str) -> str:
    """Return the test's file, or its folder if that is in a lane as a whole."""
    path = nodeid.partition("::")[0]
    return next((place for place in _LANE_OF if path.startswith(f"{place}/")), path)


def _seconds(scope: str, tests: int) -> float:
    return sum(_LANES.get(scope, {}).values()) or _SECONDS.get(scope, tests * _SECONDS_OF_A_TEST)
