"""Require a new second-factor code for an action. So a stolen session is not enough to perform it."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from config.api.limits.client_address import client_identity
from merchants.sign_in import throttle, two_factor
from merchants.sign_in.views import TOO_MANY, CodeForm
from merchants.staff import audit


class FactorForm(CodeForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        code = self.fields["code"]
        code.label = "Code from your authenticator app"
        code.widget.attrs["autofocus"] = False


def set_up_first(request: HttpRequest, action: str) -> HttpResponse:
    """Redirect a user without a second factor to the page that sets one up.

    The page shows that `action` requires a code.
    """
    messages.warning(request, f"Set up two-factor sign-in first: {action} requires a code.")
    query = urlencode({"next": request.path})
    return HttpResponseRedirect(f"{reverse('admin:two_factor')}?{query}")


def is_confirmed(request: HttpRequest, form: FactorForm) -> bool:
    """Whether the form was sent, and is valid with its code. If it isn't valid, its errors say why."""
    return request.method == "POST" and form.is_valid() and is_code_right(request, form)


def is_code_right(request: HttpRequest, form: FactorForm) -> bool:
    """Whether the form's code is valid. If the code is not valid, add an error to the form."""
    name, address = f"second factor of {request.user.pk}", client_identity(request)
    if not throttle.may_try(name, address):
        form.add_error("code", TOO_MANY)
        return False
    if two_factor.check_code(request.user, form.cleaned_data["code"]) is not None:
        throttle.forget(name, address)
        return True
    audit.note(request, audit.What.CODE_FAILED)
    seconds = two_factor.seconds_to_wait(request.user)
    wait = f" Wait {seconds} seconds before the next try." if seconds > 1 else ""
    form.add_error("code", f"This code is wrong or already used. Enter the app's next code.{wait}")
    return False
