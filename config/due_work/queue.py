"""A queue: the rows of one table that are due for one kind of work."""

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import Model

from config.due_work.leases import DURATION, Lease
from config.due_work.statements import STATEMENTS, filled_in

logger = logging.getLogger(__name__)

_FREE = "(lease_until IS NULL OR lease_until <= statement_timestamp())"


@dataclass(frozen=True, kw_only=True)
class Queue:
    """The due rows of one model. The texts below are column names, or SQL with unqualified column names.

    Args:
        due: The column with the time when a row is due.
        owner: The column whose values take turns, so that no owner delays the others. Usually the merchant.
        waiting: The SQL condition for the rows that belong to the queue. It may contain `%(now)s`.
        lane: The column with the row's lane, such as a chain. Each lane has its own thread. By default, all rows
            are in one lane, None.
        order: The order of one owner's rows. By default, the row that has been due longest comes first.
        has_lease: Whether rows have the columns `claim_id` and `lease_until`. Without them, call only `pick`, and
            prevent double work yourself.
        statements: Statements that replace those of `statements.sql`.
    """

    model: type[Model]
    due: str
    owner: str
    waiting: str = "TRUE"
    lane: str = "NULL::text"
    order: str = ""
    has_lease: bool = True
    statements: Mapping[str, str] = field(default_factory=dict)

    def lanes(self, now: datetime) -> list[Any]:
        """Return the lanes with due rows that no worker holds."""
        return [lane for (lane,) in self._rows("lanes", now=now)]

    def pick(self, now: datetime, most: int, lane: Any = None) -> list[Any]:
        """Return the keys of up to `most` due rows of the lane that no worker holds. Owners take turns."""
        return [key for (key,) in self._rows("pick", now=now, most=most, lane=lane)]

    def claim(self, now: datetime, most: int, lane: Any = None) -> Lease:
        """Lease up to `most` due rows of the lane. Owners take turns."""
        return self.lease(now, self.pick(now, most, lane))

    def lease(self, now: datetime, keys: Sequence[Any]) -> Lease:
        """Lease the rows with these keys, except rows that aren't due or that another worker has leased or locked.

        A row is due if its time is before `now`. The database's clock decides whether a row is leased.
        """
        asked_at, claim_id = time.monotonic(), uuid.uuid4()
        rows = self._rows("lease", now=now, keys=keys, claim_id=claim_id, duration=DURATION) if keys else []
        if abandoned := sum(is_abandoned for _, is_abandoned in rows):
            table = self.model._meta.db_table
            logger.warning("took over %d rows of %s whose worker stopped", abandoned, table)
        return Lease(self.model, claim_id, [key for key, _ in rows], asked_at=asked_at)

    @cached_property
    def sql(self) -> dict[str, str]:
        """The statements by name, with the queue's table and columns."""
        return {
            name: filled_in(
                statement,
                self.model,
                due=self.due,
                owner=self.owner,
                waiting=f"({self.waiting})",
                lane=self.lane,
                order=self.order or self.due,
                free=_FREE if self.has_lease else "TRUE",
            )
            for name, statement in {**STATEMENTS, **self.statements}.items()
        }

    def _rows(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(self.sql[name], values)
            return list(cursor.fetchall())
