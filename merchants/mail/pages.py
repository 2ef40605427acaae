"""The portal's page where a member chooses notices, and the page of unsubscribe links."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods
from django.views.generic import FormView

from config import mail
from config.admin import portal
from merchants.mail.notices import choose, unsubscribe
from merchants.mail.unsubscribing import UnknownLink, read_token
from merchants.models import NoticeKind, StaffMembership
from merchants.staff.roles import membership_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"


# No CSRF check is needed, because the signature of the link allows the change, not a cookie.
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe_page(request: HttpRequest, token: str) -> HttpResponse:
    """On GET, show a button. On POST, unsubscribe without a redirect (RFC 8058)."""
    try:
        member_id, kind = read_token(token)
    except UnknownLink:
        return _page(request, {"is_unknown": True}, status=404)
    if request.method == "POST":
        unsubscribe(member_id, kind, request=request)
    return _page(request, {"kind": kind.label, "is_done": request.method == "POST"})


def _page(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    response = render(request, "merchants/unsubscribe.html", context, status=status)
    response["Content-Security-Policy"] = _POLICY
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response


class NoticesForm(forms.Form):
    notices = forms.MultipleChoiceField(
        label="E-mail me about",
        choices=NoticeKind.choices,
        required=False,
        widget=portal.Checkboxes,
    )


class NoticesView(FormView[forms.Form]):
    template_name = "admin/notices.html"
    form_class = NoticesForm
    site: Any = None

    def get_initial(self) -> dict[str, Any]:
        return {"notices": self._member().notices or []}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        own = {"title": "E-mail notices", "is_off": mail.is_off(), "email": self._member().user.email}
        return super().get_context_data(**{**self.site.each_context(self.request), **own, **context})

    def form_valid(self, form: forms.Form) -> HttpResponse:
        kinds = [NoticeKind(each) for each in form.cleaned_data["notices"]]
        choose(self._member(), kinds, request=self.request)
        messages.success(self.request, "Your e-mail notices were saved.")
        return HttpResponseRedirect(reverse("admin:notices"))

    def _member(self) -> StaffMembership:
        """Return the user's membership of a merchant. Raises PermissionDenied for operators and support."""
        member = membership_of(self.request.user)
        if member is None or member.merchant is None:
            raise PermissionDenied
        return member
