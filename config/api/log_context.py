"""Add the ids of the current payment request, payment, event, delivery or task to each log line.

    with log_context(payment_id=payment.pk, payment_request_id=payment.request_id):
        ...  # each line logged here has both ids

A context belongs to one thread. If the work continues in another thread, open a new context there.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

# The fields are in the order in which log lines show them.
FIELDS = (
    "payment_request_id",
    "payment_id",
    "event_id",
    "delivery_id",
    "task_id",
    "task",
    "chain_id",
    "merchant_id",
)

_current: ContextVar[dict[str, str] | None] = ContextVar("log_context", default=None)


@contextmanager
def log_context(**ids: object) -> Iterator[None]:
    """Add these ids to each line that is logged inside. Names are from `FIELDS`. An id of None is skipped."""
    inner = {**(_current.get() or {}), **_named(ids)}
    token = _current.set(inner)
    try:
        yield
    finally:
        _current.reset(token)


def add_to_log_context(**ids: object) -> None:
    """Add ids to the current context. Do nothing outside a context."""
    current = _current.get()
    if current is not None:
        current.update(_named(ids))


def logged_ids() -> Mapping[str, str]:
    """Return the current ids by name."""
    return _current.get() or {}


def _named(ids: Mapping[str, object]) -> dict[str, str]:
    if unknown := ids.keys() - set(FIELDS):
        raise TypeError(f"log lines have no fields {sorted(unknown)}")
    return {name: str(value) for name, value in ids.items() if value is not None}
