"""Keyset pagination of lists, newest first. The last page is as fast as the first.

Rows are in the order of (time, id), and a page begins before or after the cursor's row. If rows are added or deleted
between two calls, the pages still neither repeat nor skip a row.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.answers import ListPage
from config.api.errors import ApiError, ErrorCode, Problem
from config.api.serializers import OneOfField, StrictSerializer, TextField, WholeNumberField, invalid

Row = TypeVar("Row", bound=Model)

DEFAULT_LIMIT = 20
MAX_LIMIT = 100
_DIGITS = re.compile(r"[0-9]{1,30}")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


class NumberInQueryField(WholeNumberField):
    def to_internal_value(self, data: Any) -> int:
        if not _DIGITS.fullmatch(str(data)):
            raise invalid(f"This should be a whole number{self._range()}, in digits; got {str(data)[:64]!r}.")
        return super().to_internal_value(int(data))


class TrueOrFalseInQueryField(OneOfField):
    """`true` or `false` in a query string."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=["true", "false"], **options)

    def to_internal_value(self, data: Any) -> bool:  # type: ignore[override]
        return super().to_internal_value(data) == "true"


class TimeInQueryField(serializers.DateTimeField):
    """A time in RFC 3339, with its offset from UTC."""

    def to_internal_value(self, value: Any) -> datetime:
        """Return the time in UTC, to the microsecond."""
        match = _TIME.fullmatch(str(value))
        if match is not None:
            day, clock, fraction, offset = match.groups()
            text = f"{day}T{clock}{(fraction or '')[:7]}{offset.upper().replace('Z', '+00:00')}"
            try:
                return datetime.fromisoformat(text).astimezone(UTC)
            except (ValueError, OverflowError):
                pass  # there is no such day or hour
        example = "2026-01-31T12:00:00Z"
        plus = " (send + as %2B)" if " " in str(value) else ""
        raise invalid(f"This should be a time such as {example}; got {str(value)[:64]!r}{plus}.")


class ListQuery(StrictSerializer):
    """The query parameters of every list. Subclasses add filters as fields."""

    limit = NumberInQueryField(
        min_value=1,
        max_value=MAX_LIMIT,
        default=DEFAULT_LIMIT,
        help_text="The maximum number of objects on the page.",
    )
    starting_after = TextField(
        required=False,
        max_length=64,
        help_text="The `id` of an object. The page starts with the next older object.",
    )
    ending_before = TextField(
        required=False,
        max_length=64,
        help_text="The `id` of an object. The page ends with the next newer object.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "starting_after" in attrs and "ending_before" in attrs:
            message = "starting_after and ending_before are mutually exclusive."
            detail = serializers.ErrorDetail(message, ErrorCode.PARAMETER_INVALID.value)
            raise serializers.ValidationError({"ending_before": detail})
        return attrs


def read_query(form: type[ListQuery], request: Request) -> dict[str, Any]:
    """Return the query's validated parameters. Raises ApiError for unknown, invalid or repeated parameters."""
    given = request.query_params
    twice = [name[:80] for name in given if len(given.getlist(name)) > 1]
    if twice:
        problems = [
            Problem(
                ErrorCode.PARAMETER_INVALID, f"The query has {name!r} more than once. Send it once.", name
            )
            for name in twice
        ]
        raise ApiError.of(problems)
    return form.read(given.dict())


def conditions(query: Mapping[str, Any], filters: Mapping[str, str]) -> dict[str, Any]:
    """Return the conditions for `filter()`. `filters` maps the name of a query parameter to its ORM lookup."""
    return {lookup: query[name] for name, lookup in filters.items() if name in query}


@dataclass(frozen=True)
class Page(Generic[Row]):
    """One page of rows, newest first. `has_more` is True if another page follows in the requested direction."""

    rows: list[Row]
    has_more: bool


def page_of(
    rows: QuerySet[Row], query: Mapping[str, Any], *, cursors: QuerySet[Row], time: str = "created_at"
) -> Page[Row]:
    """Return the requested page of the filtered `rows`. Raises ApiError for an unknown cursor.

    The query's cursor must be the id of a row in `cursors`. The table needs an index on the filtered columns, followed
    by `time` and the id.
    """
    return page_by(lambda cut: list(cut.of(rows, time)), query, edge=edge_of(cursors, query, time))


@dataclass(frozen=True)
class Cut:
    """The rows to read: `count` rows after `edge`, which is the cursor's (time, id).

    The last row only shows whether there is another page.
    """

    backwards: bool
    edge: tuple[Any, Any] | None
    count: int

    def of(self, rows: QuerySet[Row], time: str) -> QuerySet[Row]:
        if self.edge is not None:
            beyond = TupleGreaterThan if self.backwards else TupleLessThan
            rows = rows.filter(beyond(Tuple(time, "id"), self.edge))
        order = (time, "id") if self.backwards else (f"-{time}", "-id")
        return rows.order_by(*order)[: self.count]


def page_by(
    read: Callable[[Cut], list[Row]], query: Mapping[str, Any], *, edge: tuple[Any, Any] | None
) -> Page[Row]:
    """Return the requested page.

    `read` returns the rows that a `Cut` describes: oldest first if it is `backwards`, else newest first.
    """
    cut = Cut(backwards="ending_before" in query, edge=edge, count=query["limit"] + 1)
    rows = read(cut)
    has_more = len(rows) > query["limit"]
    rows = rows[: query["limit"]]
    return Page(rows[::-1] if cut.backwards else rows, has_more)


def edge_of(
    cursors: QuerySet[Any], query: Mapping[str, Any], time: str = "created_at"
) -> tuple[Any, Any] | None:
    """Return (time, id) of the query's cursor, or None without a cursor. Raises ApiError for an unknown cursor."""
    name = next((name for name in ("starting_after", "ending_before") if name in query), None)
    if name is None:
        return None
    try:
        edge = cursors.order_by().values_list(time, "id").filter(pk=query[name]).first()
    except (ValueError, ValidationError):
        edge = None
    if edge is None:
        message = f"This list has no object {query[name]!r}. Send an id from one of its pages."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, name)
    return edge[0], edge[1]


def list_answer(request: Request, page: Page[Any], data: Iterable[Any]) -> Response:
    return Response(ListPage(url=request.path, has_more=page.has_more, data=list(data)))
