"""Which test process gets which tests: each file goes to one, and all that need the whole local world to the same."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

_IN_THE_WORLD = "tests/browser/local_world"


def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling":
    """A world takes a minute of everybody's time to start, and some of it for as long as it runs: one is enough."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _IN_THE_WORLD if nodeid.startswith(f"{_IN_THE_WORLD}/") else super()._split_scope(nodeid)

    return Scheduling(config, log)
