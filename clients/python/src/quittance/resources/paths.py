"""Validate ids for URL paths."""

import re

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def checked_id(id: str) -> str:
    """Return `id`. Raises ValueError for an invalid id. Otherwise the id could change the path of the URL."""
    if not isinstance(id, str) or not _ID.fullmatch(id):
        raise ValueError(f"This is not an id: {id!r}")
    return id
