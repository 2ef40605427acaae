"""Filters of the portal's lists: drop-downs, autocompletion for large tables, and date ranges.

The base classes are from the theme django-unfold. For the type checker, they are replaced by Django's own classes.
"""

from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

if TYPE_CHECKING:

    class _DateRange(admin.FieldListFilter):
        used_parameters: dict[str, Any]
        parameter_name: str

    Choices = admin.ChoicesFieldListFilter
    Dropdown = admin.SimpleListFilter
    Related = admin.RelatedFieldListFilter
    Autocompleted = admin.RelatedFieldListFilter
else:
    from unfold.contrib.filters.admin import AutocompleteSelectFilter as Autocompleted
    from unfold.contrib.filters.admin import ChoicesDropdownFilter as Choices
    from unfold.contrib.filters.admin import DropdownFilter as Dropdown
    from unfold.contrib.filters.admin import RangeDateFilter as _DateRange
    from unfold.contrib.filters.admin import RelatedDropdownFilter as Related

__all__ = ["Autocompleted", "Choices", "Days", "Dropdown", "Related"]


class Days(_DateRange):
    """An inclusive range of days in the user's time zone. Either end may be empty; invalid dates are ignored."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = "date"  # The page shows "By date".

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002 - the interface
        name = self.parameter_name
        first, last = (_day(self.used_parameters.get(f"{name}_{end}")) for end in ("from", "to"))
        if first is not None:
            queryset = queryset.filter(**{f"{name}__gte": _midnight(first)})
        if last is not None and last < date.max:
            queryset = queryset.filter(**{f"{name}__lt": _midnight(last + timedelta(days=1))})
        return queryset


def _day(text: object) -> date | None:
    try:
        return date.fromisoformat(str(text))
    except ValueError:
        return None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=timezone.get_current_timezone())
