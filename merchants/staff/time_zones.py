"""The time zone in which a user sees the portal. The time zone is UTC until the user chooses another time zone."""

from collections.abc import Callable
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.generic import FormView

from config.admin import portal
from merchants.models import PortalPreferences
from merchants.staff.roles import Account

_PORTAL = "/admin/"
DEFAULT = "UTC"


@cache
def names() -> tuple[str, ...]:
    """Return the IANA names of the zones to choose from: UTC, then the names with an area and a city."""
    places = {
        name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "SystemV/"))
    }
    return (DEFAULT, *sorted(places))


def zone_of(user: Account) -> str:
    """Return the IANA name of the user's time zone. If the server doesn't know this time zone, return UTC."""
    chosen = PortalPreferences.objects.filter(user=user.pk).values_list("time_zone", flat=True).first()
    return chosen if chosen in names() else DEFAULT


class TimeZoneMiddleware:
    """Shows the portal's pages in the user's time zone. Other requests stay in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(_PORTAL) or not request.user.is_authenticated:
            return self.get_response(request)
        with timezone.override(ZoneInfo(zone_of(request.user))):
            return self.get_response(request)


class TimeZoneForm(forms.Form):
    time_zone = forms.ChoiceField(label="Time zone", widget=portal.Select)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        field: Any = self.fields["time_zone"]
        field.choices = [(name, name.replace("_", " ")) for name in names()]


class TimeZoneView(FormView[forms.Form]):
    template_name = "admin/time_zone.html"
    form_class = TimeZoneForm
    site: Any = None

    def get_initial(self) -> dict[str, Any]:
        return {"time_zone": zone_of(self.request.user)}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        return super().get_context_data(
            **{**self.site.each_context(self.request), "title": "Time zone", **context}
        )

    def form_valid(self, form: forms.Form) -> HttpResponse:
        zone = form.cleaned_data["time_zone"]
        user: Any = self.request.user
        PortalPreferences.objects.update_or_create(user=user, defaults={"time_zone": zone})
        messages.success(self.request, f"Dates and times are now shown in {zone}.")
        return HttpResponseRedirect(reverse("admin:time_zone"))
