"""The page of an invitation link. The invited person chooses a password, and then sets up the second factor."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import View

from config.admin import portal
from merchants.sign_in import sessions
from merchants.team.invitations import InvitationClosed, accept, find_open, role_label

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite

    from merchants.models import Invitation


class PasswordForm(forms.Form):
    password1 = forms.CharField(
        label="Password",
        strip=False,
        max_length=1000,
        help_text="At least 12 characters.",
        widget=portal.PasswordInput(attrs={"autocomplete": "new-password", "autofocus": True}),
    )
    password2 = forms.CharField(
        label="Password again",
        strip=False,
        max_length=1000,
        widget=portal.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, email: str, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.email = email

    def clean(self) -> dict[str, Any]:
        """Require a valid password, entered twice."""
        cleaned = super().clean() or {}
        first, second = cleaned.get("password1"), cleaned.get("password2")
        if first and second and first != second:
            self.add_error("password2", "The two passwords are not the same.")
        elif first:
            try:
                validate_password(first, User(username=self.email, email=self.email))
            except ValidationError as error:
                self.add_error("password1", error)
        return cleaned


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class InvitationView(View):
    """The page of the link. A GET must not use up the link, because mail scanners and previews open it."""

    site: "AdminSite" = None  # type: ignore[assignment]  # given by `as_view`

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        try:
            invitation = find_open(token)
        except InvitationClosed:
            return self._closed(request)
        return self._page(request, invitation, PasswordForm(invitation.email))

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        try:
            invitation = find_open(token)
            form = PasswordForm(invitation.email, request.POST)
            if not form.is_valid():
                return self._page(request, invitation, form)
            user = accept(token, form.cleaned_data["password1"], request=request)
        except InvitationClosed:
            return self._closed(request)
        sessions.begin(request, user)
        messages.success(request, f"Your user name is {user.get_username()}. You need it to sign in.")
        return HttpResponseRedirect(reverse("admin:two_factor"))

    def _page(self, request: HttpRequest, invitation: "Invitation", form: PasswordForm) -> HttpResponse:
        context = {
            "title": f"Join {invitation.merchant or 'the operators'}",
            "form": form,
            "email": invitation.email,
            "role": role_label(invitation.role),
            "signed_in": request.user.get_username() if request.user.is_authenticated else "",
        }
        return self._respond(request, context, 200)

    def _closed(self, request: HttpRequest) -> HttpResponse:
        return self._respond(request, {"title": "This invitation doesn’t work"}, 410)

    def _respond(self, request: HttpRequest, context: dict[str, Any], status: int) -> HttpResponse:
        context = {**self.site.each_context(request), **context}
        response = TemplateResponse(request, "admin/invitation.html", context, status=status)
        response["Cache-Control"] = "no-store"
        # The CSRF check needs the form's origin. With a stricter policy, browsers would not send the origin.
        response["Referrer-Policy"] = "same-origin"
        return response
