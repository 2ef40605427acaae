"""What must be true throughout: no two workers work on one row at once, each under a lease that it holds."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from config.due_work.leases import Lease
from tests.integration.simulation.actors import current


@dataclass
class Overlaps:
    """The calls to nodes and receivers under way, each with the leases of its worker."""

    found: list[str] = field(default_factory=list)
    _under_way: list[Sequence[Lease]] = field(default_factory=list)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note a call of the current worker, and whether another worker makes one about a row that both hold."""
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
