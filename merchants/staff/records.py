"""Admin lists for tables with millions of rows. The lists never count all rows, and search only indexed columns."""

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from django.contrib import admin
from django.db.models import Model, QuerySet, Value
from django.http import HttpRequest

from config.admin import portal
from merchants.staff.roles import sees_every_merchant
from merchants.staff.scope import MerchantScoped

_Row = TypeVar("_Row", bound=Model)

MAX_FOUND = 1000
"""The search limit; a shared wallet may have millions of payments."""


class Records(portal.ShowsMore, MerchantScoped, portal.ReadOnly, portal.ModelAdmin[Any]):
    """A list of read-only records, newest first."""

    show_full_result_count = False
    paginator = portal.BoundedPaginator
    list_per_page = 50
    list_filter_submit = True
    list_filter_sheet = True
    show_facets = admin.ShowFacets.NEVER
    search_fields: ClassVar[Any] = ("pk",)
    list_class: ClassVar[type[portal.RecordList]] = portal.RecordList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Annotate each row with the value that `names_merchant` returns."""
        sees_all = Value(sees_every_merchant(request.user))
        rows: QuerySet[Any] = super().get_queryset(request).annotate(names_merchant=sees_all)
        return rows

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[portal.RecordList]:  # noqa: ARG002 - the admin interface
        return self.list_class

    def listed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows that the list, its search and its export show.

        Other rows are still reachable by their URL.
        """
        return rows

    def found(self, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
        raise NotImplementedError

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 - the admin interface
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Return the listed rows that match `search_term`. Without a term, return all."""
        text, rows = clean(search_term), self.listed(queryset)
        return (self.found(rows, text) if text else rows), False


def names_merchant(row: Model) -> bool:
    """Whether the list shows the row's merchant. Members see one merchant's rows, so their lists don't show it."""
    return bool(getattr(row, "names_merchant", False))


def clean(text: str) -> str:
    """Strip whitespace from a search term. If the term is a URL, return the last segment of its path, such as an id."""
    text = text.strip()
    if text.lower().startswith(("http://", "https://")):
        try:
            return urlsplit(text).path.rstrip("/").rpartition("/")[2]
        except ValueError:
            return text
    return text


def found_by(rows: QuerySet[_Row], named: Iterable[QuerySet[_Row]]) -> QuerySet[_Row]:
    """Return the `rows` that are in at least one of the querysets `named`.

    Each queryset is read by a separate query that uses an index. A single query with OR would scan whole tables.
    """
    keys: set[object] = set()
    for some in named:
        keys.update(some.values_list("pk", flat=True)[:MAX_FOUND])
    return rows.filter(pk__in=keys)
