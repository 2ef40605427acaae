"""Look up an object by its id, or answer a 404 that names what is missing."""

import re
from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404

Row = TypeVar("Row", bound=Model)

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ObjectMissing(Http404):
    """No `kind` of object has this id, or it is another merchant's: both say the same.

    What does not look like an id is not repeated in the message.
    """

    def __init__(self, kind: str, id_: str) -> None:
        super().__init__(f"No {kind} has the id {id_}." if _ID.fullmatch(id_) else f"No {kind} has this id.")


def find_object(rows: QuerySet[Row], kind: str, id_: str) -> Row:
    """Return the one of `rows` whose text key is `id_`. Raises ObjectMissing, which names it by `kind`."""
    # The database is asked only for what can be an id: PostgreSQL refuses to compare with a NUL.
    row = rows.filter(pk=id_).first() if _ID.fullmatch(id_) else None
    if row is None:
        raise ObjectMissing(kind, id_)
    return row
