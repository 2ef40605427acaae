"""Stream the filtered list as a CSV file. One page of rows is in memory at a time.

Each page is a query of its own, so that a million rows need no long transaction or cursor. Cells are escaped,
since spreadsheets could run them as formulas (OWASP, "CSV Injection"). Amounts are exact decimal text.
"""

import csv
import io
import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from chains.amounts import format_amount
from chains.models import Token
from config.admin import portal
from config.api.limits.waiting import Busy, hold
from config.api.serializers import one_line
from merchants.models import AuditEntry
from merchants.staff import audit
from merchants.staff.roles import EXPORT

if TYPE_CHECKING:
    _AdminClass = portal.ModelAdmin[Any]
else:
    _AdminClass = object

logger = logging.getLogger(__name__)

PAGE = 1000
# Each export occupies a thread of the web server until the client has read it all.
MAX_AT_ONCE = 3
_BYTE_ORDER_MARK = "\ufeff"  # Without it, Excel does not recognise UTF-8.
_STARTS_A_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")


@dataclass(frozen=True)
class Column:
    name: str
    cell: Callable[[Any], object]


def safe(value: object) -> str:
    """Return a cell's text. A leading apostrophe prevents spreadsheets from running it as a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    text = one_line(str(value).replace("\x00", ""))
    return f"'{text}" if text[:1] in _STARTS_A_FORMULA or text.lstrip()[:1] in _STARTS_A_FORMULA else text


def decimal(raw: int | None, token: Token | None) -> str:
    """Return base units as exact decimal text."""
    return "" if raw is None or token is None else format_amount(raw, token.decimals)


def lines(columns: Sequence[Column], rows: Iterator[Any]) -> Iterator[str]:
    """Yield the file in chunks: first the byte order mark and the header, then PAGE rows each."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow([column.name for column in columns])
    yield _BYTE_ORDER_MARK + _emptied(buffer)
    for number, row in enumerate(rows, start=1):
        writer.writerow([safe(column.cell(row)) for column in columns])
        if number % PAGE == 0:
            yield _emptied(buffer)
    if rest := _emptied(buffer):
        yield rest


def _emptied(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


class _Download(StreamingHttpResponse):
    """Call `let_go` when the response is closed or garbage-collected."""

    def __init__(self, let_go: Callable[[], None], **options: Any) -> None:
        super().__init__(**options)
        self._let_go = weakref.finalize(self, let_go)

    def close(self) -> None:
        super().close()
        self._let_go()


class CsvExport(_AdminClass):
    """Add a CSV export to a list. The file has all rows that match the search and the filters."""

    export_name: ClassVar[str]
    export_columns: ClassVar[tuple[Column, ...]]
    export_related: ClassVar[tuple[str, ...]] = ()
    change_list_template = "admin/exporting_change_list.html"

    def read(self, rows: QuerySet[Any]) -> list[Any]:
        """Load one page of rows. Subclasses also load the related objects that the cells read."""
        return list(rows)

    def get_urls(self) -> list[URLPattern]:
        meta = self.model._meta
        name = f"{meta.app_label}_{meta.model_name}_export"
        return [
            path("export.csv", self.admin_site.admin_view(self.export_view), name=name),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        meta = self.model._meta
        address = reverse(f"admin:{meta.app_label}_{meta.model_name}_export")
        query = request.GET.urlencode()
        export_url = f"{address}?{query}" if query else address
        may_export = request.user.has_perm(EXPORT)
        context = {"export_url": export_url if may_export else "", **(extra_context or {})}
        return super().changelist_view(request, context)

    def export_view(self, request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
        portal.demand(self.has_view_permission(request) and request.user.has_perm(EXPORT))
        meta = self.model._meta
        try:
            rows = self.get_changelist_instance(request).get_queryset(request)
        except IncorrectLookupParameters:
            return HttpResponseRedirect(_list_address(meta))
        try:
            let_go = hold("exports", at_once=MAX_AT_ONCE)
        except Busy:
            message = "Too many exports are being downloaded. Try again when one of them has finished."
            self.message_user(request, message, messages.ERROR)
            query = request.GET.urlencode()
            return HttpResponseRedirect(_list_address(meta) + (f"?{query}" if query else ""))
        response = _Download(let_go, content_type="text/csv; charset=utf-8")
        noted = _note(request, self.model, request.GET.urlencode())
        rows = rows.select_related(*self.export_related).order_by("-created_at", "-pk")
        response.streaming_content = lines(self.export_columns, _counted(self._rows(rows), noted))
        stamp = f"{timezone.now():%Y%m%d-%H%M%S}"
        response["Content-Disposition"] = f'attachment; filename="{self.export_name}-{stamp}.csv"'
        response["Cache-Control"] = "no-store"
        response["X-Accel-Buffering"] = "no"  # Keep nginx from buffering the stream.
        return response

    def _rows(self, rows: QuerySet[Any]) -> Iterator[Any]:
        page = self.read(rows[:PAGE])
        while page:
            yield from page
            page = self.read(_older(rows, page[-1])[:PAGE]) if len(page) == PAGE else []


def _older(rows: QuerySet[Any], last: Any) -> QuerySet[Any]:
    same_moment = Q(created_at=last.created_at, pk__gte=last.pk)
    return rows.filter(created_at__lte=last.created_at).exclude(same_moment)


def _list_address(meta: Any) -> str:
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def _note(request: HttpRequest, model: type[Any], query: str) -> LogEntry:
    """Log the export before the first byte is sent. The row count is added at the end."""
    plural = str(model._meta.verbose_name_plural)
    audit.note(request, AuditEntry.What.EXPORTED, subject=plural, detail=query or "all")
    return LogEntry.objects.create(
        user_id=int(request.user.pk or 0),
        content_type=ContentType.objects.get_for_model(model),
        object_id=None,
        object_repr=f"CSV export of {plural}",
        action_flag=CHANGE,
        change_message=f"Exported as CSV: {query or 'all'}"[:1000],
    )


def _counted(rows: Iterator[Any], noted: LogEntry) -> Iterator[Any]:
    """Yield the rows. At the end, or if the client disconnects, log how many rows were sent."""
    count = 0
    try:
        for row in rows:
            count += 1
            yield row
    finally:
        noted.change_message += f" ({count} rows)"
        noted.save(update_fields=("change_message",))
        logger.info("%s: %s rows, by user %s", noted.object_repr, count, noted.user_id)
