"""A rule that must always hold: no two workers work on the same row, and each works under its own lease."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from config.due_work.leases import Lease
from tests.integration.simulation.actors import current


@dataclass
class Overlaps:
    """The current calls to nodes and receivers, each with its worker's leases."""

    found: list[str] = field(default_factory=list)
    _under_way: list[Sequence[Lease]] = field(default_factory=list)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Record the current worker's call. Report it if another worker calls for the same row."""
        actor = current()
        mine = tuple(actor.leases) if actor is not None else ()
        for others in self._under_way:
            for name, _ in sorted(_held(mine) & _held(others), key=str):
                self.found.append(f"two workers work on one {name} at once, each under a lease")
        self._under_way.append(mine)
        try:
            yield
        finally:
            self._under_way.remove(mine)


def _held(leases: Sequence[Lease]) -> set[tuple[str, Any]]:
    return {(lease._model.__name__, key) for lease in leases for key in lease.keys if lease.holds(key)}
