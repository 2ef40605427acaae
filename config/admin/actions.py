"""What members of staff do to one object by hand: offered where it can be done, asked first, done once, written down.

The page that asks carries what its reader saw. If the object has changed by the time the answer comes, nothing is
done: a second click, a stale tab and two colleagues at once are all harmless. Doing it, and the line in the object's
log that says who did what and why, are one transaction.
"""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import quote, unquote
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from config.admin import portal
from config.api.errors import ApiError


class ConfirmForm(forms.Form):
    """The answer to the page that asks; `seen` is the state of the object that its reader saw."""

    seen = forms.CharField(widget=forms.HiddenInput, required=False, strip=False)


class ReasonForm(ConfirmForm):
    """An answer that has to say why."""

    reason = forms.CharField(
        max_length=400,
        widget=portal.Textarea(attrs={"rows": 3}),
        help_text="Recorded in the history.",
    )


class Action:
    """One thing that can be done to an object. Subclasses say what it is, when, and which service does it."""

    name: ClassVar[str]
    icon: ClassVar[str]
    permission: ClassVar[str]
    form: ClassVar[type[ConfirmForm]] = ConfirmForm
    is_dangerous: ClassVar[bool] = False

    def label(self, row: Any) -> str:
        """Return what the button on the object's page says."""
        raise NotImplementedError

    def is_offered(self, row: Any) -> bool:
        """Return whether it can be done to `row` as it is."""
        raise NotImplementedError

    def title(self, row: Any) -> str:
        """Return what the page that asks is called."""
        return f"{self.label(row)}: {row}"

    def explanation(self, row: Any) -> str:
        """Return what will happen, for whoever decides."""
        raise NotImplementedError

    def lock(self, row: Any) -> Any:
        """Return `row` as it is now, held until the transaction ends."""
        raise NotImplementedError

    def seen(self, row: Any) -> str:
        """Return a short text that differs once `row` has changed in a way that matters here."""
        raise NotImplementedError

    def perform(self, row: Any, actor: str, answer: dict[str, Any]) -> tuple[str, str]:
        """Do it; return what the log says and what the page says. Raises ApiError where it can't be done."""
        raise NotImplementedError


class WithActions(portal.ShowsMore):
    """For an admin page whose objects have actions; the template is `admin/acting_change_form.html`."""

    confirmed_actions: ClassVar[tuple[Action, ...]] = ()
    change_form_template = "admin/acting_change_form.html"

    def get_urls(self) -> list[URLPattern]:
        """Add a page for each action."""
        meta = self.model._meta
        own = [
            path(
                f"<path:object_id>/{action.name}/",
                self.admin_site.admin_view(self.action_view),
                {"name": action.name},
                name=f"{meta.app_label}_{meta.model_name}_{action.name}",
            )
            for action in self.confirmed_actions
        ]
        return [*own, *super().get_urls()]

    def offered(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        """Return what this member of staff may do to `row` now: label, icon and address of each."""
        return [
            {"label": action.label(row), "icon": action.icon, "url": action_url(row, action.name)}
            for action in self.confirmed_actions
            if request.user.has_perm(action.permission) and action.is_offered(row)
        ]

    def beside(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Offer what can be done."""
        offered = self.offered(request, row) if row is not None else []
        return {**super().beside(request, row), "offered": offered}

    def action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Ask; then do it, unless the object has changed since."""
        action = next(each for each in self.confirmed_actions if each.name == name)
        portal.demand(request.user.has_perm(action.permission))
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return self._not_there(request, object_id)
        if request.method != "POST" and not action.is_offered(row):
            messages.warning(request, f"{action.label(row)}: not possible in the current state of {row}.")
            return HttpResponseRedirect(portal.change_url(row))
        form = action.form(
            request.POST if request.method == "POST" else None, initial={"seen": action.seen(row)}
        )
        if request.method == "POST" and form.is_valid():
            self._perform(request, action, row, form.cleaned_data)
            return HttpResponseRedirect(portal.change_url(row))
        return portal.confirmation(
            request,
            row,
            self,
            title=action.title(row),
            explanation=action.explanation(row),
            button=action.label(row),
            form=form,
            dangerous=action.is_dangerous,
        )

    def _perform(self, request: HttpRequest, action: Action, row: Model, answer: dict[str, Any]) -> None:
        try:
            with transaction.atomic():
                held = action.lock(row)
                if answer.pop("seen") != action.seen(held):
                    messages.warning(
                        request,
                        f"Nothing was done: {row} has changed since you were asked. This is how it is now.",
                    )
                    return
                written, said = action.perform(held, actor_of(request), answer)
                self.log_change(request, held, written)
        except ApiError as error:
            messages.error(request, str(error.detail))
        else:
            messages.success(request, said)

    def _not_there(self, request: HttpRequest, key: str) -> HttpResponse:
        meta = self.model._meta
        messages.error(request, f"No object has the ID {unquote(key)}.")
        return HttpResponseRedirect(reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist"))


def action_url(row: Model, name: str) -> str:
    """Return the address of the page on which the action `name` on `row` is confirmed."""
    meta = row._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{name}", args=(quote(row.pk),))


def actor_of(request: HttpRequest) -> str:
    """Return the name under which the history knows this member of staff."""
    return f"admin {request.user.get_username()}"[:100]
