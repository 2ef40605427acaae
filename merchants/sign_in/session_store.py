"""Django's sessions in the database, without mistaking an outage for a session that was deleted."""

from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError

from config.database.outages import is_outage


class SessionStore(db.SessionStore):
    def save(self, must_create: bool = False) -> Any:
        """Save the session. Raises UpdateError if it was deleted meanwhile, and database errors of an outage.

        Django raises UpdateError for both, and responds to it with 400.
        """
        try:
            return super().save(must_create)
        except UpdateError as error:
            outage = error.__context__
            if outage is None or not is_outage(outage):
                raise
        raise outage
