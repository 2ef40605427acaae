"""Send several deliveries again from the portal, after a confirmation. Each one gets a log entry."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import transaction
from django.http import HttpRequest

from config.admin.actions import actor_of
from config.api.errors import ApiError
from webhooks.dispatch.redelivery import redeliver
from webhooks.models import Delivery

MAX_AT_ONCE = 200


class ResendForm(forms.Form):
    """The form of the confirmation page.

    The form contains the chosen deliveries, each with a fingerprint of its state.
    """

    action = forms.CharField(widget=forms.HiddenInput)
    confirmed = forms.CharField(widget=forms.HiddenInput)
    seen = forms.MultipleChoiceField(widget=forms.MultipleHiddenInput)

    @classmethod
    def confirming(cls, chosen: Sequence[Delivery]) -> "ResendForm":
        form = cls(
            initial={
                "action": "resend_selected",
                "confirmed": "yes",
                "seen": [f"{row.pk} {seen_of(row)}" for row in chosen],
                ACTION_CHECKBOX_NAME: [row.pk for row in chosen],
            }
        )
        form.fields[ACTION_CHECKBOX_NAME] = forms.MultipleChoiceField(widget=forms.MultipleHiddenInput)
        return form


def seen_of(delivery: Delivery) -> str:
    """Return a fingerprint, which changes with each attempt and redelivery."""
    again = delivery.redelivered_at.isoformat() if delivery.redelivered_at else "never"
    return f"{delivery.status} {delivery.attempts} {again}"


def resend_each(page: Any, request: HttpRequest, chosen: Sequence[Delivery]) -> None:
    """Send the deliveries that have not changed since the confirmation page was shown. Report the result."""
    seen = set(request.POST.getlist("seen"))
    sent, changed, refused = 0, 0, set()
    for row in chosen:
        try:
            with transaction.atomic():
                delivery = Delivery.objects.select_for_update().get(pk=row.pk)
                if f"{delivery.pk} {seen_of(delivery)}" not in seen:
                    changed += 1
                    continue
                again = redeliver(delivery, actor_of(request))
                page.log_change(request, delivery, f"Sent again ({delivery.status} → {again.status}).")
                sent += 1
        except ApiError as error:
            refused.add(str(error.detail))
    if sent:
        messages.success(request, f"{sent} deliver{'y is' if sent == 1 else 'ies are'} being sent.")
    if changed:
        messages.warning(request, f"{changed} changed in the meantime and were not sent again.")
    for reason in sorted(refused):
        messages.error(request, reason)
