"""The portal's lists of endpoints, events and deliveries, with an action to send deliveries again."""

import json
from collections.abc import Iterable
from typing import Any

from django.contrib import admin, messages
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html

from config.admin import portal
from config.admin.actions import Action, WithActions
from config.admin.cells import NOTHING, exact_and_ago, in_zone, two_lines, when
from config.admin.filters import Autocompleted, Choices, Days, Dropdown
from merchants.staff.records import MAX_FOUND, Records, found_by
from webhooks.admin.endpoint_pages import EndpointPages
from webhooks.attention import given_up, in_trouble
from webhooks.dispatch.redelivery import redeliver
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.resending import MAX_AT_ONCE, ResendForm, resend_each, seen_of
from webhooks.status_labels import (
    DELIVERY_COLOURS,
    ENDPOINT_COLOURS,
    is_success,
    of_delivery,
    of_endpoint,
    response_text,
    state_of,
)

_EVENT = "evt_"
_DELIVERY = "del_"


class Trouble(Dropdown):
    title = "attention"
    parameter_name = "trouble"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the interface
        return [("yes", "Disabled by us, or failing for a day")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Endpoint]) -> QuerySet[Endpoint]:  # noqa: ARG002 - the interface
        return in_trouble(queryset, timezone.now()) if self.value() == "yes" else queryset


class GivenUp(Dropdown):
    title = "attention"
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the interface
        return [("given_up", "Failed within a week")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> QuerySet[Delivery]:  # noqa: ARG002 - the interface
        return given_up(queryset, timezone.now()) if self.value() == "given_up" else queryset


@admin.register(Endpoint)
class EndpointAdmin(EndpointPages, Records):
    change_form_template = "admin/webhooks/endpoint/change_form.html"
    change_list_template = "admin/webhooks/endpoint/change_list.html"
    list_display = ("owner", "state", "place", "failing", "changed")
    list_filter = ("is_enabled", Trouble)
    list_select_related = ("merchant",)
    ordering = ("-updated_at", "-pk")
    search_help_text = "Merchant or URL"
    fields = readonly_fields = ("types", "former_secret", "created_at", "updated_at")

    def found(self, rows: QuerySet[Endpoint], text: str) -> QuerySet[Endpoint]:
        """Search by merchant and URL, without an index.

        A search without an index is fast enough, because each merchant has only one endpoint.
        """
        return rows.filter(Q(merchant__name__icontains=text) | Q(url__icontains=text))

    def beside(self, request: HttpRequest, endpoint: Endpoint | None) -> dict[str, Any]:
        if endpoint is None:
            return super().beside(request, endpoint)
        waiting = Delivery.objects.filter(merchant=endpoint.merchant_id, status=Delivery.Status.PENDING)
        count = waiting.order_by()[:MAX_FOUND].count()
        return {
            **super().beside(request, endpoint),
            "title": f"Webhook endpoint of {endpoint.merchant}",
            "amount": endpoint.url or "No URL",
            "badges": self.state(endpoint),
            "diagnosis": of_endpoint(endpoint, timezone.now()),
            "facts": [
                ("Merchant", portal.link(portal.change_url(endpoint.merchant), str(endpoint.merchant))),
                ("Waiting to be sent", f"{count}{' or more' if count == MAX_FOUND else ''}"),
                ("Failing since", exact_and_ago(endpoint.failing_since)),
            ],
        }

    @admin.display(description="Event types")
    def types(self, endpoint: Endpoint) -> str:
        return ", ".join(endpoint.event_types)

    @admin.display(description="Previous secret valid until")
    def former_secret(self, endpoint: Endpoint) -> str:
        return exact_and_ago(endpoint.previous_secret_expires_at)

    @admin.display(description="Merchant", ordering="merchant__name")
    def owner(self, endpoint: Endpoint) -> str:
        return str(endpoint.merchant)

    @admin.display(description="State")
    def state(self, endpoint: Endpoint) -> str:
        return portal.badge(state_of(endpoint), ENDPOINT_COLOURS)

    @admin.display(description="URL")
    def place(self, endpoint: Endpoint) -> str:
        """Return the URL. If the service disabled the endpoint, add the reason."""
        return two_lines(endpoint.url or NOTHING, endpoint.disabled_reason)

    @admin.display(description=in_zone("Failing since"), ordering="failing_since")
    def failing(self, endpoint: Endpoint) -> str:
        """Return the time of the first failed attempt after the last success."""
        return when(endpoint.failing_since)

    @admin.display(description=in_zone("Changed"), ordering="updated_at")
    def changed(self, endpoint: Endpoint) -> str:
        return when(endpoint.updated_at)


@admin.register(Event)
class EventAdmin(Records):
    change_form_template = "admin/webhooks/event/change_form.html"
    list_display = ("code", "kind", "owner", "happened")
    list_filter = (("type", Choices), ("merchant", Autocompleted), ("created", Days))
    list_select_related = ("merchant",)
    ordering = ("-created", "-id")
    search_help_text = "Event id"
    fields = ("id", "dedupe_key")

    def about(self, text: str) -> Iterable[str]:  # noqa: ARG002 - overridden in payments
        """Return the possible beginnings of `dedupe_key` for events about the object with the ID `text`."""
        return ()

    def found(self, rows: QuerySet[Event], text: str) -> QuerySet[Event]:
        named = [rows.filter(dedupe_key__startswith=key) for key in self.about(text)]
        if text.startswith(_EVENT):
            named.append(rows.filter(pk=text))
        return found_by(rows, named)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        """Don't load the bodies that older events have in their rows, because the list doesn't show bodies."""
        events: QuerySet[Event] = super().get_queryset(request)
        return events.defer("row_body")

    def beside(self, request: HttpRequest, event: Event | None) -> dict[str, Any]:
        if event is None:
            return super().beside(request, event)
        deliveries = event.deliveries.select_related("merchant").order_by("-created_at", "-id")
        return {
            **super().beside(request, event),
            "title": f"Event {event.pk}",
            "facts": [
                ("Type", event.type),
                ("Merchant", portal.link(portal.change_url(event.merchant), str(event.merchant))),
                ("Happened", exact_and_ago(event.created)),
            ],
            "body": readable(event.body),
            "deliveries": [
                {
                    "url": portal.change_url(delivery),
                    "id": delivery.pk,
                    "state": portal.badge(delivery.status, DELIVERY_COLOURS),
                    "detail": of_delivery(delivery, timezone.now()).sentence,
                }
                for delivery in deliveries[:50]
            ],
        }

    @admin.display(description="Event")
    def code(self, event: Event) -> str:
        return format_html('<span class="q-code">{}</span>', event.pk)

    @admin.display(description="Type")
    def kind(self, event: Event) -> str:
        return event.type

    @admin.display(description="Merchant")
    def owner(self, event: Event) -> str:
        return str(event.merchant)

    @admin.display(description=in_zone("Happened"), ordering="created")
    def happened(self, event: Event) -> str:
        return when(event.created)


class Resend(Action):
    name, icon, permission = "resend", "forward_to_inbox", "webhooks.resend_delivery"

    def label(self, row: Delivery) -> str:
        return "Send now" if row.status == Delivery.Status.PENDING else "Send again"

    def is_offered(self, row: Delivery) -> bool:
        """Return False for test events, which can't be sent again."""
        return not row.is_test

    def explanation(self, row: Delivery) -> str:
        return (
            f"Sends the same body to {_destination(row)} now, with a new signature, in up to eight attempts. "
            f"Its event ID stays {row.public_event_id}, so that the merchant can ignore duplicates."
        )

    def lock(self, row: Delivery) -> Delivery:
        return Delivery.objects.select_for_update(of=("self",)).select_related("merchant").get(pk=row.pk)

    def seen(self, row: Delivery) -> str:
        return seen_of(row)

    def perform(self, row: Delivery, actor: str, answer: dict[str, Any]) -> tuple[str, str]:  # noqa: ARG002 - the action interface
        from_status = row.status
        again = redeliver(row, actor)
        return f"Sent again ({from_status} → {again.status}).", f"{row.pk} is being sent."


@admin.register(Delivery)
class DeliveryAdmin(WithActions, Records):
    change_form_template = "admin/webhooks/delivery/change_form.html"
    confirmed_actions = (Resend(),)
    list_display = ("code", "state", "last_response", "owner", "due", "created")
    list_filter = (
        ("status", Choices),
        GivenUp,
        ("type", Choices),
        ("merchant", Autocompleted),
        "is_test",
        ("created_at", Days),
    )
    list_select_related = ("merchant",)
    ordering = ("-created_at", "-id")
    search_help_text = "Delivery id or event id"
    actions = ("resend_selected",)
    fields = ("id", "public_event_id", "finished_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        deliveries: QuerySet[Delivery] = super().get_queryset(request)
        last = Attempt.objects.filter(delivery=OuterRef("pk")).order_by("-number")
        return deliveries.annotate(
            last_status=Subquery(last.values("status_code")[:1]),
            last_error=Subquery(last.values("error")[:1]),
        )

    def about(self, text: str) -> Iterable[str]:  # noqa: ARG002 - overridden in payments
        return ()

    def found(self, rows: QuerySet[Delivery], text: str) -> QuerySet[Delivery]:
        events: list[str] = []
        for key in self.about(text):
            about = Event.objects.filter(dedupe_key__startswith=key)
            events.extend(about.values_list("pk", flat=True)[:MAX_FOUND])
        named = [rows.filter(event__in=events)] if events else []
        if text.startswith(_EVENT):
            named += [rows.filter(event=text), rows.filter(event=None, public_event_id=text)]
        if text.startswith(_DELIVERY):
            named.append(rows.filter(pk=text))
        return found_by(rows, named)

    def has_resend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(Resend.permission)

    @admin.action(description="Send again", permissions=["resend"])
    def resend_selected(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> HttpResponse | None:
        """Show a confirmation page. Then send the deliveries that have not changed since it was shown."""
        chosen = list(queryset.filter(is_test=False)[: MAX_AT_ONCE + 1])
        if not chosen or len(chosen) > MAX_AT_ONCE:
            messages.error(request, f"Choose 1 to {MAX_AT_ONCE} deliveries. Test events can't be sent again.")
            return None
        if "confirmed" in request.POST:
            resend_each(self, request, chosen)
            return None
        return portal.form_page(
            request,
            self,
            title=f"Send {len(chosen)} deliver{'y' if len(chosen) == 1 else 'ies'} again",
            explanation="Sends the same bodies to their merchants now, with new signatures, in up to eight attempts "
            "each. Merchants recognise events by their IDs and ignore duplicates.",
            button="Send again",
            form=ResendForm.confirming(chosen),
            back_url=request.get_full_path(),
        )

    def beside(self, request: HttpRequest, delivery: Delivery | None) -> dict[str, Any]:
        if delivery is None:
            return super().beside(request, delivery)
        return {
            **super().beside(request, delivery),
            "title": f"Delivery {delivery.pk}",
            "amount": delivery.type,
            "badges": self.state(delivery),
            "diagnosis": of_delivery(delivery, timezone.now()),
            "facts": self._facts(delivery),
            "attempts": [_line(attempt) for attempt in delivery.attempt_set.order_by("-number")],
            "body": readable(delivery.body),
        }

    def _facts(self, delivery: Delivery) -> list[tuple[str, object]]:
        event = delivery.event
        facts: list[tuple[str, object]] = [
            ("Event", portal.link(portal.change_url(event), event.pk) if event else delivery.public_event_id),
            ("Merchant", portal.link(portal.change_url(delivery.merchant), str(delivery.merchant))),
            ("Sent to", _destination(delivery)),
            ("Attempts", str(delivery.attempts)),
            ("Next attempt", exact_and_ago(delivery.due_at)),
            ("Created", exact_and_ago(delivery.created_at)),
        ]
        if delivery.redelivered_at:
            facts.append(
                ("Sent again", f"by {delivery.redelivered_by}, {exact_and_ago(delivery.redelivered_at)}")
            )
        return facts

    @admin.display(description="Delivery")
    def code(self, delivery: Delivery) -> str:
        return two_lines(delivery.type, delivery.pk)

    @admin.display(description="Status", ordering="status")
    def state(self, delivery: Delivery) -> str:
        labels = [portal.badge(delivery.status, DELIVERY_COLOURS)]
        if delivery.is_test:
            labels.append(portal.badge("test", {}))
        return format_html(
            '<span class="q-badges">{}{}</span>', labels[0], labels[1] if delivery.is_test else ""
        )

    @admin.display(description="Last response")
    def last_response(self, delivery: Delivery) -> str:
        if delivery.attempts == 0:
            return NOTHING
        response = response_text(getattr(delivery, "last_status", None), getattr(delivery, "last_error", ""))
        return two_lines(response, f"{delivery.attempts} attempt{'' if delivery.attempts == 1 else 's'}")

    @admin.display(description="Merchant")
    def owner(self, delivery: Delivery) -> str:
        return str(delivery.merchant)

    @admin.display(description=in_zone("Next attempt"))
    def due(self, delivery: Delivery) -> str:
        return when(delivery.due_at)

    @admin.display(description=in_zone("Created"), ordering="created_at")
    def created(self, delivery: Delivery) -> str:
        return when(delivery.created_at)


def readable(body: bytes) -> str:
    """Indent a JSON body. Integers stay exact. Other bodies are returned unchanged."""
    text = body.decode(errors="replace")
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _destination(delivery: Delivery) -> str:
    if delivery.url_override:
        return delivery.url_override
    endpoint = Endpoint.objects.filter(merchant=delivery.merchant_id).first()
    return (endpoint.url if endpoint else None) or "no URL"


def _line(attempt: Attempt) -> dict[str, object]:
    good = is_success(attempt.status_code, attempt.error)
    word = str(attempt.status_code) if attempt.status_code else "no response"
    return {
        "number": attempt.number,
        "at": when(attempt.started_at),
        "badge": portal.badge(word, {word: "success" if good else "danger"}),
        "took": f"{attempt.duration_ms} ms" if attempt.duration_ms is not None else "",
        "url": attempt.url,
        "error": attempt.error,
        "excerpt": attempt.response_excerpt,
    }
