"""A cursor for statements that are executed again and again: prepared, and with times that are read by C code."""

from collections.abc import Mapping, Sequence
from typing import Any

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.errors import FeatureNotSupported
from psycopg.pq import Format, TransactionStatus

_TIMESTAMPTZ = psycopg.adapters.types["timestamptz"].oid
_adapters: AdaptersMap | None = None


class PreparedCursor(psycopg.Cursor[Any]):
    """Executes statements that PostgreSQL parses and plans once for each connection."""

    @property
    def adapters(self) -> AdaptersMap:
        """Django's adapters with psycopg's own loader of times: Django's takes twenty times as long for the same."""
        global _adapters
        if _adapters is None:
            ours = AdaptersMap(self.connection.adapters)
            loader = psycopg.adapters.get_loader(_TIMESTAMPTZ, Format.TEXT)
            if loader is not None:
                ours.register_loader(_TIMESTAMPTZ, loader)
            _adapters = ours
        return _adapters

    def execute_prepared(self, sql: str, values: Sequence[Any] | Mapping[str, Any]) -> None:
        """Execute a statement, preparing it at its first use. Raises psycopg's errors."""
        ours = self.connection
        # Django switches preparation off for the whole connection, and psycopg then ignores `prepare`. It stays off for
        # the ORM's statements, since psycopg would keep the texts of the last hundred, with their values.
        ours.prepare_threshold = 0
        try:
            self.execute(sql, values, prepare=True)
        except FeatureNotSupported:
            # A migration has changed the type of a column that the prepared statement returns. In a transaction, the
            # rollback makes psycopg forget all of them.
            if ours.info.transaction_status != TransactionStatus.IDLE:
                raise
            psycopg.Cursor(ours).execute("DEALLOCATE ALL", prepare=False)
            self.execute(sql, values, prepare=True)
        finally:
            ours.prepare_threshold = None
