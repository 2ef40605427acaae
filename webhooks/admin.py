"""Endpoints, events and deliveries, to look at. Secrets are not shown: merchants read theirs by the API."""

from django.contrib import admin

from config import portal
from merchants.portal import MerchantScoped
from webhooks.models import Attempt, Delivery, Endpoint, Event


@admin.register(Endpoint)
class EndpointAdmin(MerchantScoped, portal.ReadOnly, portal.ModelAdmin[Endpoint]):
    list_display = ("merchant", "url", "is_enabled", "disabled_reason", "failing_since", "updated_at")
    list_filter = ("is_enabled",)
    list_select_related = ("merchant",)
    search_fields = ("merchant__name", "url")
    fields = (
        "merchant",
        "url",
        "is_enabled",
        "event_types",
        "previous_secret_expires_at",
        "disabled_reason",
        "failing_since",
        "created_at",
        "updated_at",
    )


@admin.register(Event)
class EventAdmin(MerchantScoped, portal.ReadOnly, portal.ModelAdmin[Event]):
    list_display = ("id", "type", "merchant", "created")
    list_filter = ("type",)
    list_select_related = ("merchant",)
    search_fields = ("id", "merchant__name")
    fields = ("id", "merchant", "type", "created", "content")
    show_full_result_count = False
    paginator = portal.BoundedPaginator

    @admin.display(description="Body, as signed and sent")
    def content(self, event: Event) -> str:
        """Return the frozen body as text."""
        return bytes(event.body).decode()


class AttemptInline(MerchantScoped, portal.ReadOnly, portal.TabularInline[Attempt, Delivery]):
    merchant_path = "delivery__merchant"
    model = Attempt
    extra = 0
    fields = ("number", "started_at", "url", "status_code", "duration_ms", "error", "response_excerpt")


@admin.register(Delivery)
class DeliveryAdmin(MerchantScoped, portal.ReadOnly, portal.ModelAdmin[Delivery]):
    list_display = ("id", "type", "merchant", "status", "attempts", "due_at", "is_test", "created_at")
    list_filter = ("status", "type", "is_test")
    list_select_related = ("merchant",)
    search_fields = ("id", "public_event_id", "merchant__name")
    fields = (
        "id",
        "merchant",
        "public_event_id",
        "type",
        "url_override",
        "status",
        "attempts",
        "due_at",
        "lease_until",
        "is_test",
        "created_at",
        "finished_at",
        "content",
    )
    inlines = (AttemptInline,)
    show_full_result_count = False
    paginator = portal.BoundedPaginator

    @admin.display(description="Body, as signed and sent")
    def content(self, delivery: Delivery) -> str:
        """Return the frozen body as text."""
        return delivery.body.decode()
