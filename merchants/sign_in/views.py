from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, RedirectURLMixin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView

from config.admin import portal
from config.api.limits.client_address import client_identity
from merchants.models import Authenticator
from merchants.sign_in import sessions, throttle, two_factor
from merchants.sign_in.arrival import note_sign_in
from merchants.staff import audit

if TYPE_CHECKING:
    from django.contrib.admin.forms import AdminAuthenticationForm as _PasswordForm
else:
    from unfold.forms import AuthenticationForm as _PasswordForm

TOO_MANY = "Too many attempts. Try again in 15 minutes."


class SignInForm(_PasswordForm):
    """User name and password. A failure doesn't reveal whether the account exists."""

    error_messages = {
        **_PasswordForm.error_messages,
        "invalid_login": "Incorrect user name or password. Both are case-sensitive.",
    }

    def clean(self) -> dict[str, Any]:
        name = self.cleaned_data.get("username", "")
        address = client_identity(_request(self))
        if not throttle.may_try(name, address):
            audit.note(_request(self), audit.What.SIGN_IN_REFUSED)
            raise ValidationError(TOO_MANY, code="too_many")
        try:
            cleaned = super().clean() or {}
        except ValidationError:
            # An unknown name is not logged, because it could be a password in the wrong field.
            audit.note(_request(self), audit.What.SIGN_IN_FAILED, subject=_known(name))
            raise
        if self.user_cache is not None:
            throttle.forget(name, address)
        return cleaned


class SignInView(LoginView):
    def form_valid(self, form: Any) -> HttpResponse:
        """Open a session. If a second factor is required, redirect to its page."""
        sessions.begin(self.request, form.get_user())
        if two_factor.is_missing(self.request.user):
            return HttpResponseRedirect(next_step(self.request, self.get_redirect_url()))
        note_sign_in(self.request)
        return HttpResponseRedirect(self.get_success_url())


class CodeForm(forms.Form):
    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=portal.TextInput(
            attrs={
                "autocomplete": "one-time-code",
                "inputmode": "numeric",
                "autofocus": True,
                "spellcheck": "false",
            }
        ),
    )


class RecoveryForm(CodeForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["code"].label = "Recovery code"
        self.fields["code"].widget.attrs.update({"autocomplete": "off", "inputmode": "text"})


class EitherForm(CodeForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["code"].label = "Code, or a recovery code"
        self.fields["code"].widget.attrs.update({"inputmode": "text", "autofocus": False})


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class CodeView(RedirectURLMixin, FormView[forms.Form]):
    template_name = "admin/sign_in_code.html"
    site: Any = None

    def dispatch(self, request: Any, *args: Any, **options: Any) -> Any:
        """Show the page only to users who have entered their password and not yet a code."""
        if not _is_staff(request):
            return HttpResponseRedirect(reverse("admin:login"))
        if not two_factor.is_missing(request.user) or two_factor.authenticator_of(request.user) is None:
            return HttpResponseRedirect(next_step(request, self.get_redirect_url()))
        return super().dispatch(request, *args, **options)

    def get_form_class(self) -> type[forms.Form]:
        return RecoveryForm if self._by_recovery() else CodeForm

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        return super().get_context_data(
            **{
                **self.site.each_context(self.request),
                "title": "Recovery code" if self._by_recovery() else "Two-factor sign-in",
                "by_recovery": self._by_recovery(),
                "next": self.get_redirect_url(),
                **context,
            }
        )

    def form_valid(self, form: forms.Form) -> HttpResponse:
        user, address = self.request.user, client_identity(self.request)
        name = f"second factor of {user.pk}"
        if not throttle.may_try(name, address):
            return self._reject(form, TOO_MANY)
        authenticator = self._accepted_by(form.cleaned_data["code"])
        if authenticator is None:
            audit.note(self.request, audit.What.CODE_FAILED)
            return self._reject(form, self._why())
        throttle.forget(name, address)
        sessions.verify(self.request, authenticator)
        note_sign_in(self.request)
        return HttpResponseRedirect(self.get_success_url())

    def get_default_redirect_url(self) -> str:
        return resolve_url("admin:index")

    def _accepted_by(self, code: str) -> Authenticator | None:
        if not self._by_recovery():
            return two_factor.check_code(self.request.user, code)
        spent = two_factor.spend_recovery_code(self.request.user, code)
        if spent:
            left = two_factor.recovery_codes_left(self.request.user)
            audit.note(self.request, audit.What.RECOVERY_CODE_USED, detail=f"{left} left")
        return spent

    def _why(self) -> str:
        if self._by_recovery():
            return "Incorrect or already used recovery code."
        seconds = two_factor.seconds_to_wait(self.request.user)
        wait = f" Try again in {seconds} seconds." if seconds > 1 else ""
        return f"Incorrect, expired or already used code.{wait}"

    def _reject(self, form: forms.Form, why: str) -> HttpResponse:
        form.add_error("code", why)
        return self.form_invalid(form)

    def _by_recovery(self) -> bool:
        return self.request.GET.get("with") == "recovery"


def next_step(request: HttpRequest, requested: str = "") -> str:
    """Return the URL of the next page: to enter a code, to set up a second factor, or the requested page."""
    if not two_factor.is_missing(request.user):
        return requested or reverse("admin:index")
    enrolled = two_factor.authenticator_of(request.user) is not None
    page = reverse("admin:sign_in_code" if enrolled else "admin:two_factor")
    return f"{page}?{urlencode({'next': requested})}" if requested else page


def _is_staff(request: HttpRequest) -> bool:
    return request.user.is_active and request.user.is_staff


def _request(form: Any) -> HttpRequest:
    request: HttpRequest = form.request
    return request


def _known(name: str) -> User | str:
    return User.objects.filter(username=name).first() or "an unknown name"
