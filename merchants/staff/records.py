"""Lists of what happened, rows by the million: never all counted, and found by what has an index alone."""

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from config.admin import portal
from merchants.staff.scope import MerchantScoped

_Row = TypeVar("_Row", bound=Model)

FOUND_AT_MOST = 1000
"""A shared wallet may have been paid a million times: the newest thousand are shown."""


class Records(portal.ShowsMore, MerchantScoped, portal.ReadOnly, portal.ModelAdmin[Any]):
    """Records to look at: newest first, searched by what names them, filtered in a sheet beside the list."""

    show_full_result_count = False
    paginator = portal.BoundedPaginator
    list_per_page = 50
    list_filter_submit = True
    list_filter_sheet = True
    show_facets = admin.ShowFacets.NEVER
    search_fields: ClassVar[Any] = ("pk",)

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[portal.RecordList]:  # noqa: ARG002 - the admin interface
        """Return the kind of list."""
        return portal.RecordList

    def found(self, rows: QuerySet[Any], text: str) -> QuerySet[Any]:
        """Return the rows that `text` names."""
        raise NotImplementedError

    def get_search_results(
        self,
        request: HttpRequest,  # noqa: ARG002 - the admin interface
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that `search_term` names."""
        text = clean(search_term)
        return (self.found(queryset, text) if text else queryset), False


def clean(text: str) -> str:
    """Return what was meant to be searched for: without blanks, and of a link its last part."""
    text = text.strip()
    if text.lower().startswith(("http://", "https://")):
        try:
            return urlsplit(text).path.rstrip("/").rpartition("/")[2]
        except ValueError:
            return text
    return text


def found_by(rows: QuerySet[_Row], named: Iterable[QuerySet[_Row]]) -> QuerySet[_Row]:
    """Return those of `rows` that any of the querysets `named` holds, each asked by itself.

    One question with OR between tables would read them whole; several small ones each take an index.
    """
    keys: set[object] = set()
    for some in named:
        keys.update(some.values_list("pk", flat=True)[:FOUND_AT_MOST])
    return rows.filter(pk__in=keys)
