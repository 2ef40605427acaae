"""Actions of staff on one object, such as cancelling a payment request.

The page shows a button for each available action. The button leads to a confirmation form, which contains the object's
state. If the object has changed since the form was rendered, or the action is not offered for it, the action doesn't
run. So a second click, an old tab or a crafted form does no harm. Each action is logged with the user and the reason.
"""

import hashlib
import json
from contextlib import nullcontext
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
    """The confirmation form; `seen` is the object's state when the page was rendered."""

    seen = forms.CharField(widget=forms.HiddenInput, required=False, strip=False)


class ReasonForm(ConfirmForm):
    reason = forms.CharField(
        max_length=400,
        widget=portal.Textarea(attrs={"rows": 3}),
        help_text="Recorded in the history.",
    )


class Action:
    """An action on an object. Subclasses define its label, condition and service call."""

    name: ClassVar[str]
    icon: ClassVar[str]
    permission: ClassVar[str]
    form: ClassVar[type[ConfirmForm]] = ConfirmForm
    is_dangerous: ClassVar[bool] = False
    queries_nodes: ClassVar[bool] = False
    """Whether `perform` queries nodes, and therefore runs outside a transaction."""

    def label(self, row: Any) -> str:
        raise NotImplementedError

    def is_offered(self, row: Any) -> bool:
        """Return whether the action is available for `row`. Checked again when `row` is locked: don't query nodes."""
        raise NotImplementedError

    def title(self, row: Any) -> str:
        return f"{self.label(row)}: {row}"

    def explanation(self, row: Any) -> str:
        """Return the consequences of the action, which the confirmation page shows."""
        raise NotImplementedError

    def initial(self, row: Any) -> dict[str, str]:  # noqa: ARG002 - the action interface
        return {}

    def form_for(self, row: Any, data: Any, initial: dict[str, str]) -> ConfirmForm:  # noqa: ARG002 - the action interface
        """Return the confirmation form, with the submitted `data` if there is any.

        Subclasses may adapt the form to `row`.
        """
        return self.form(data, initial=initial)

    def lock(self, row: Any) -> Any:
        """Reload `row` and lock it until the transaction ends."""
        raise NotImplementedError

    def seen(self, row: Any) -> str:
        """Return the state of `row` as a text. If it has changed when the user confirms, the action doesn't run."""
        raise NotImplementedError

    def perform(self, row: Any, actor: str, answer: dict[str, Any]) -> tuple[str, str]:
        """Run the action. Return the message for the log and the message for the page.

        Raises ApiError if the action isn't possible.
        """
        raise NotImplementedError


class WithActions(portal.ShowsMore):
    """Mixin for an admin page whose objects have actions. The template is `admin/acting_change_form.html`."""

    confirmed_actions: ClassVar[tuple[Action, ...]] = ()
    change_form_template = "admin/acting_change_form.html"

    def get_urls(self) -> list[URLPattern]:
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
        """Return the label, icon and URL of each action that this user may run on `row` now."""
        return [
            {"label": action.label(row), "icon": action.icon, "url": action_url(row, action.name)}
            for action in self.confirmed_actions
            if request.user.has_perm(action.permission) and action.is_offered(row)
        ]

    def beside(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        offered = self.offered(request, row) if row is not None else []
        return {**super().beside(request, row), "offered": offered}

    def action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Show the confirmation page; then run the action, unless the object has changed since."""
        action = next(each for each in self.confirmed_actions if each.name == name)
        portal.demand(request.user.has_perm(action.permission))
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return self._not_there(request, object_id)
        if request.method != "POST" and not action.is_offered(row):
            messages.warning(request, f"{action.label(row)}: not possible in the current state of {row}.")
            return HttpResponseRedirect(portal.change_url(row))
        form = action.form_for(
            row,
            request.POST if request.method == "POST" else None,
            {"seen": action.seen(row), **action.initial(row)},
        )
        if request.method == "POST" and form.is_valid() and self._perform(request, action, row, form):
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

    def _perform(self, request: HttpRequest, action: Action, row: Model, form: ConfirmForm) -> bool:
        """Run the action and show its result. Return False if the form shows errors to correct."""
        answer = dict(form.cleaned_data)
        try:
            with nullcontext() if action.queries_nodes else transaction.atomic():
                held = action.lock(row)
                if answer.pop("seen") != action.seen(held) or not action.is_offered(held):
                    messages.warning(
                        request,
                        f"Nothing was done, because {row} has changed in the meantime. Check it and try again.",
                    )
                    return True
                log_message, message = action.perform(held, actor_of(request), answer)
                self.log_change(request, held, log_message)
        except ApiError as error:
            if all(problem.param in form.fields for problem in error.problems):
                for problem in error.problems:
                    form.add_error(problem.param, problem.message)
                return False
            messages.error(request, str(error.detail))
        else:
            messages.success(request, message)
        return True

    def _not_there(self, request: HttpRequest, key: str) -> HttpResponse:
        meta = self.model._meta
        messages.error(request, f"No object has the ID {unquote(key)}.")
        return HttpResponseRedirect(reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist"))


def action_url(row: Model, name: str) -> str:
    """Return the URL of the confirmation page of the action `name` on `row`."""
    meta = row._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{name}", args=(quote(row.pk),))


def digested(state: object) -> str:
    """Return a digest of `state` (JSON data) for a form's field `seen`."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def out_of_date(what: str) -> forms.ValidationError:
    """Return the error of a form that shows an old state of `what`."""
    return forms.ValidationError(
        f"Nothing was saved, because {what} has changed since you opened this page. Open the page again."
    )


def actor_of(request: HttpRequest) -> str:
    return f"admin {request.user.get_username()}"[:100]
