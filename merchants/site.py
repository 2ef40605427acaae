"""The portal's admin site: sign-in pages, access checks and security log entries."""

from typing import TYPE_CHECKING, Any

from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from config.admin.cells import NOTHING
from merchants.mail.pages import NoticesView
from merchants.sign_in import password_reset, two_factor
from merchants.sign_in.enrolment import TwoFactorView
from merchants.sign_in.views import CodeView, SignInForm, SignInView, next_step
from merchants.staff import audit
from merchants.staff.time_zones import TimeZoneView
from merchants.team.accepting import InvitationView

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite as _Site
else:
    from unfold.sites import UnfoldAdminSite as _Site


class PortalSite(_Site):
    """Django's admin with two-factor sign-in. Every page except those for sign-in checks `has_permission`."""

    login_form = SignInForm
    empty_value_display = NOTHING

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the user is active staff and has completed sign-in."""
        return super().has_permission(request) and not two_factor.is_missing(request.user)

    def get_urls(self) -> list[Any]:
        """Add the pages of the second factor. These pages are open before sign-in is complete."""
        own: list[URLPattern] = [
            path("sign-in/code/", CodeView.as_view(site=self), name="sign_in_code"),
            path("two-factor/", TwoFactorView.as_view(site=self), name="two_factor"),
            path("invitation/<str:token>/", InvitationView.as_view(site=self), name="invitation"),
            path("notices/", self.admin_view(NoticesView.as_view(site=self)), name="notices"),
            path("time-zone/", self.admin_view(TimeZoneView.as_view(site=self)), name="time_zone"),
        ]
        return [*own, *password_reset.urls(self), *super().get_urls()]

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """If the user has already entered user name and password, redirect to the next step."""
        if request.method == "GET" and super().has_permission(request):
            return HttpResponseRedirect(next_step(request, _local(request)))
        context = {
            **self.each_context(request),
            "title": "Sign in",
            "subtitle": None,
            "app_path": request.get_full_path(),
            "username": request.user.get_username(),
            **(extra_context or {}),
        }
        request.current_app = self.name
        return SignInView.as_view(
            extra_context=context,
            authentication_form=SignInForm,
            template_name="admin/login.html",
            next_page=reverse("admin:index"),
        )(request)

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method == "POST" and request.user.is_authenticated:
            audit.note(request, audit.What.SIGNED_OUT)
        return super().logout(request, extra_context)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Change the user's own password. The user's other sessions end."""
        response = super().password_change(request, extra_context)
        if request.method == "POST" and response.status_code == 302:
            audit.note(request, audit.What.PASSWORD_CHANGED, subject=request.user.get_username())
        return response


def _local(request: HttpRequest) -> str:
    view = SignInView()
    view.setup(request)
    return str(view.get_redirect_url()) if REDIRECT_FIELD_NAME in request.GET else ""
