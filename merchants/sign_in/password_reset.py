"""Forgotten passwords: Django's reset views, inside the portal.

The response doesn't reveal whether an account has the address. The response's duration doesn't reveal it either,
because another thread sends the mail. The next sign-in still requires the second factor.
"""

import logging
import threading
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm, SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import (
    PasswordResetCompleteView,
    PasswordResetConfirmView,
    PasswordResetDoneView,
    PasswordResetView,
)
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse, reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.views.decorators.cache import never_cache

from config import mail
from config.admin import portal
from config.api.limits.client_address import client_identity
from merchants.sign_in import throttle
from merchants.staff import audit

if TYPE_CHECKING:
    _SetPasswordForm = SetPasswordForm[User]
else:  # Django's form classes are generic only for the type checker.
    _SetPasswordForm = SetPasswordForm

logger = logging.getLogger(__name__)

TOO_MANY = "Too many attempts. Try again in 15 minutes."
_DONE = reverse_lazy("admin:password_reset_done")
_COMPLETE = reverse_lazy("admin:password_reset_complete")


class EmailForm(PasswordResetForm):
    email = forms.EmailField(
        label="Email",
        max_length=254,
        widget=portal.EmailInput(attrs={"autocomplete": "email", "autofocus": True}),
    )

    def get_users(self, email: str) -> list[User]:
        """Return the users with this address who can sign in to the portal: active staff with a password."""
        return [user for user in super().get_users(email) if user.is_staff]

    def send_mail(
        self,
        subject_template_name: str,
        email_template_name: str,
        context: dict[str, Any],
        from_email: str | None,  # noqa: ARG002 - the interface of Django's form
        to_email: str,
        html_email_template_name: str | None = None,  # noqa: ARG002 - the interface of Django's form
    ) -> None:
        """Send the mail from another thread: the response time must not reveal whether there is an account."""
        context = {**context, "base_url": settings.BASE_URL}
        subject = render_to_string(subject_template_name, context).strip()
        text = render_to_string(email_template_name, context)
        threading.Thread(target=_send, args=(to_email, subject, text), daemon=True).start()


def _send(recipient: str, subject: str, text: str) -> None:
    try:
        mail.send(recipient, subject, text)
    except OSError:
        logger.exception("a mail with a link to reset a password was not sent")


def reset_link(user: User) -> str:
    """Return a link to set a new password for `user`. The link works once, within an hour."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    page = reverse("admin:password_reset_confirm", args=(uid, default_token_generator.make_token(user)))
    return f"{settings.BASE_URL}{page}"


def send_reset_link(user: User, link: str) -> None:
    """Send a link that an operator requested. Raises OSError."""
    context = {"user": user, "base_url": settings.BASE_URL, "link": link}
    text = render_to_string("admin/password_link_email.txt", context)
    mail.send(user.email, "Choose a new password for Quittance", text)


class NewPasswordForm(_SetPasswordForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("new_password1", "new_password2"):
            self.fields[name].widget = portal.PasswordInput(attrs={"autocomplete": "new-password"})
        self.fields["new_password1"].help_text = "At least 12 characters."


class _Page:
    """A page of the portal that requires no sign-in."""

    site: Any = None
    request: HttpRequest

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        inherited: Any = super()
        return {**self.site.each_context(self.request), **inherited.get_context_data(**context)}


@method_decorator(never_cache, name="dispatch")
class ResetView(_Page, PasswordResetView):
    """Send a link if an account has the address."""

    template_name = "admin/password_reset.html"
    email_template_name = "admin/password_reset_email.txt"
    subject_template_name = "admin/password_reset_subject.txt"
    success_url = _DONE
    form_class = EmailForm
    title = "Reset your password"

    def form_valid(self, form: Any) -> HttpResponse:
        email = form.cleaned_data["email"]
        if not throttle.may_try(f"password reset of {email}", client_identity(self.request)):
            audit.note(self.request, audit.What.RESET_REFUSED)
            form.add_error("email", TOO_MANY)
            return self.form_invalid(form)
        users = form.get_users(email)
        # An unknown address is not logged, because it could be a password in the wrong field.
        subject = ", ".join(user.get_username() for user in users) or "an unknown address"
        audit.note(self.request, audit.What.RESET_REQUESTED, subject=subject)
        return super().form_valid(form)


@method_decorator(never_cache, name="dispatch")
class ResetSentView(_Page, PasswordResetDoneView):
    template_name = "admin/password_reset_done.html"
    title = "Check your email"


class ConfirmView(_Page, PasswordResetConfirmView):
    """The page that a reset link opens. Each link works once, within an hour."""

    template_name = "admin/password_reset_confirm.html"
    form_class = NewPasswordForm
    success_url = _COMPLETE
    title = "Choose a new password"

    def form_valid(self, form: Any) -> HttpResponse:
        """Set the password and log it. A new password ends the user's sessions."""
        response = super().form_valid(form)
        audit.note(self.request, audit.What.PASSWORD_RESET, subject=self.user)
        return response


@method_decorator(never_cache, name="dispatch")
class CompleteView(_Page, PasswordResetCompleteView):
    template_name = "admin/password_reset_complete.html"
    title = "Your password is changed"


def urls(site: Any) -> list[URLPattern]:
    return [
        path("password-reset/", ResetView.as_view(site=site), name="password_reset"),
        path("password-reset/sent/", ResetSentView.as_view(site=site), name="password_reset_done"),
        path(
            "password-reset/<uidb64>/<token>/", ConfirmView.as_view(site=site), name="password_reset_confirm"
        ),
        path("password-reset/done/", CompleteView.as_view(site=site), name="password_reset_complete"),
    ]
