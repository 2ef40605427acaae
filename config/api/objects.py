"""Look up an object by its id, or raise a 404 that names it."""

import re
from typing import TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404

Row = TypeVar("Row", bound=Model)

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ObjectMissing(Http404):
    """No object has this id, or it belongs to another merchant. The message is the same in both cases.

    The message contains the id only if the id is well-formed.
    """

    def __init__(self, kind: str, id_: str) -> None:
        super().__init__(f"No {kind} has the id {id_}." if _ID.fullmatch(id_) else f"No {kind} has this id.")


def find_object(rows: QuerySet[Row], kind: str, id_: str) -> Row:
    """Return the row whose text key is `id_`. Raises ObjectMissing."""
    # A malformed id is not queried: PostgreSQL raises an error for NUL.
    row = rows.filter(pk=id_).first() if _ID.fullmatch(id_) else None
    if row is None:
        raise ObjectMissing(kind, id_)
    return row
