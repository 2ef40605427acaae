"""The portal's pages of kill switches. Each change needs a new second-factor code."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from chains.models import Chain, Switch, Token
from chains.switches import Feature, Target, UnknownSwitch, find_target
from config.admin import portal
from merchants.admin.fresh_code import FactorForm, is_confirmed, set_up_first
from merchants.sign_in import two_factor
from merchants.switching import switch_off, switch_on

_ABOUT_OFF = (
    "Switching off stops new offers in all processes within a second. Payments in progress are still verified and "
    "completed."
)


_FEATURES = {
    Feature.SWAPS: "Payments with other tokens (swaps)",
    Feature.REFUNDS: "Refunds",
    Feature.PRICES: "Prices and exchange rates",
    Feature.EMBEDDING: "Embedded checkouts",
    Feature.DEPOSIT_ADDRESSES: "Deposit addresses",
}


class OffForm(FactorForm):
    name = forms.ChoiceField(label="Switch off", widget=portal.Select)
    reason = forms.CharField(
        max_length=200, widget=portal.TextInput, help_text="Recorded in the security log."
    )
    field_order = ("name", "reason", "code")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        off = set(Switch.objects.values_list("name", flat=True))
        choice = self.fields["name"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = [
            (title, [(target.name, target.label) for target in targets if target.name not in off])
            for title, targets in _targets()
        ]


@admin.register(Switch)
class SwitchAdmin(portal.NeverDeleted, portal.ModelAdmin[Switch]):
    """All features, chains and tokens with their state.

    The database has a row only for each switch that is off.
    """

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        portal.demand(self.has_view_permission(request))
        off = {row.name: row for row in Switch.objects.all()}
        groups = [
            (title, [_line(target, off.pop(target.name, None)) for target in targets])
            for title, targets in _targets()
        ]
        # The remaining switches are for chains and tokens that are inactive or no longer in the catalogue.
        groups.append(("Others", [_line(Target(name, self.what(row)), row) for name, row in off.items()]))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "title": "Kill switches",
            "groups": [(title, lines) for title, lines in groups if lines],
            "explanation": _ABOUT_OFF,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/chains/switch/change_list.html", context)

    def what(self, row: Switch) -> str:
        try:
            return find_target(row.name).label
        except UnknownSwitch:
            return row.name

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("add/", self.admin_site.admin_view(self.off_view), name="chains_switch_add"),
            path(
                "<path:name>/change/", self.admin_site.admin_view(self.on_view), name="chains_switch_change"
            ),
        ]
        return [*own, *super().get_urls()]

    def off_view(self, request: HttpRequest) -> HttpResponse:
        portal.demand(self.has_add_permission(request))
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "switching")
        form = OffForm(request.POST or None, initial={"name": request.GET.get("name", "")})
        if is_confirmed(request, form):
            target, _ = switch_off(
                form.cleaned_data["name"], reason=form.cleaned_data["reason"], request=request
            )
            messages.success(request, f"Switched off: {target.label}.")
            return HttpResponseRedirect(_list_url())
        return self._page(request, form, "Switch off", _ABOUT_OFF, dangerous=True)

    def on_view(self, request: HttpRequest, name: str) -> HttpResponse:
        portal.demand(self.has_change_permission(request))
        row = self.get_object(request, unquote(name))
        if row is None:
            messages.info(request, f"{unquote(name)} is on.")
            return HttpResponseRedirect(_list_url())
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "switching")
        form = FactorForm(request.POST or None)
        if is_confirmed(request, form):
            switch_on(row.name, request=request)
            messages.success(request, f"Switched on: {self.what(row)}.")
            return HttpResponseRedirect(_list_url())
        about = (
            f"{self.what(row)} is offered again within a second. Reason for switching it off: {row.reason}"
        )
        return self._page(request, form, "Switch on again", about, dangerous=False)

    def _page(
        self, request: HttpRequest, form: forms.Form, title: str, explanation: str, *, dangerous: bool
    ) -> HttpResponse:
        return portal.form_page(
            request,
            self,
            title=title,
            explanation=explanation,
            button=title,
            form=form,
            dangerous=dangerous,
            back_url=_list_url(),
        )


def _targets() -> list[tuple[str, list[Target]]]:
    """Return the page's groups in order: each has a title and the features, chains or tokens that can be switched."""
    chains = Chain.objects.filter(is_active=True)
    tokens = Token.objects.filter(is_active=True, chain__is_active=True).select_related("chain")
    return [
        ("Features", [Target(feature.value, _FEATURES[feature]) for feature in Feature]),
        ("Chains", [Target(f"chain:{row.pk}", row.name) for row in chains]),
        ("Tokens", [Target(f"token:{row.pk}", str(row)) for row in tokens]),
    ]


def _line(target: Target, row: Switch | None) -> dict[str, Any]:
    name = "chains_switch_change" if row else "chains_switch_add"
    url = reverse(f"admin:{name}", args=(quote(row.name),) if row else ())
    return {
        "label": target.label,
        "badge": portal.badge("off" if row else "on", {"on": "success", "off": "danger"}),
        "row": row,
        "since": portal.moment(row.off_at) if row else "",
        "url": url if row else f"{url}?{urlencode({'name': target.name})}",
        "button": "Switch on" if row else "Switch off",
    }


def _list_url() -> str:
    return reverse("admin:chains_switch_changelist")
