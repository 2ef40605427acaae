"""The security log. Operators see all entries. A merchant's owners see the entries about their merchant."""

from typing import Any

from django.contrib import admin
from django.db.models import Case, F, QuerySet, Value, When
from django.http import HttpRequest

from config.admin import portal
from config.admin.cells import in_zone
from merchants.models import AuditEntry
from merchants.staff.roles import sees_every_merchant
from merchants.staff.scope import MerchantScoped


@admin.register(AuditEntry)
class AuditEntryAdmin(MerchantScoped, portal.ReadOnly, portal.ModelAdmin[AuditEntry]):
    list_display = ("moment", "event", "who", "subject", "detail", "place", "merchant")
    list_display_links = None
    list_select_related = ("merchant",)
    empty_value_display = ""
    list_filter = ("what",)
    search_fields = ("=shown_actor", "=shown_address", "subject")
    search_help_text = "User name, IP address, or the object that was changed"
    fields = readonly_fields = ("at", "what", "who", "subject", "detail", "place")
    ordering = ("-id",)
    list_per_page = 50
    show_full_result_count = False
    paginator = portal.BoundedPaginator
    show_facets = admin.ShowFacets.NEVER

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        """Add each entry's actor and IP address. If the actor works for the operator, hide both from merchants."""
        entries: QuerySet[AuditEntry] = super().get_queryset(request)
        if sees_every_merchant(request.user):
            return entries.annotate(shown_actor=F("actor"), shown_address=F("address"))
        return entries.annotate(
            shown_actor=Case(When(by_operator=True, then=Value("the operator")), default=F("actor")),
            shown_address=Case(When(by_operator=True, then=Value("")), default=F("address")),
        )

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[portal.RecordList]:  # noqa: ARG002 - the admin interface
        """Return the list class without a "show all" link."""
        return portal.RecordList

    @admin.display(description=in_zone("When"), ordering="id")
    def moment(self, entry: AuditEntry) -> str:
        return portal.moment(entry.at)

    @admin.display(description="What", ordering="what")
    def event(self, entry: AuditEntry) -> str:
        return entry.get_what_display()

    @admin.display(description="Actor")
    def who(self, entry: AuditEntry) -> str:
        return str(getattr(entry, "shown_actor", ""))

    @admin.display(description="IP address")
    def place(self, entry: AuditEntry) -> str:
        return str(getattr(entry, "shown_address", ""))
