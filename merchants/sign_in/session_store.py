"""Django's sessions in the database, with one change: an outage is not reported as a deleted session."""

from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import UpdateError

from config.database.outages import is_outage


class SessionStore(db.SessionStore):
    def save(self, must_create: bool = False) -> Any:
        """Save the session.

        Raises UpdateError if another request has deleted the session. During an outage, raises the database's error.
        Django's `save` raises UpdateError for an outage too, and the response is then a 400.
        """
        try:
            return super().save(must_create)
        except UpdateError as error:
            outage = error.__context__
            if outage is None or not is_outage(outage):
                raise
        raise outage
