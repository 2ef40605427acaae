from typing import TYPE_CHECKING, Any

import segno
from django.contrib import messages
from django.contrib.auth.views import RedirectURLMixin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import View

from merchants import encryption
from merchants.sign_in import sessions, two_factor
from merchants.sign_in.arrival import note_sign_in
from merchants.sign_in.views import CodeForm, EitherForm, next_step
from merchants.staff import audit

if TYPE_CHECKING:
    from django.contrib.admin import AdminSite

_PENDING = "enrolling"


@method_decorator([sensitive_post_parameters(), never_cache], name="dispatch")
class TwoFactorView(RedirectURLMixin, View):
    site: "AdminSite" = None  # type: ignore[assignment]  # given by `as_view`

    def dispatch(self, request: Any, *args: Any, **options: Any) -> Any:
        """Require sign-in.

        If users have a second factor and haven't entered a code yet, redirect them to the code page. Otherwise they
        could replace the second factor without a code.
        """
        if not (request.user.is_active and request.user.is_staff):
            return HttpResponseRedirect(f"{reverse('admin:login')}?next={request.path}")
        enrolled = two_factor.authenticator_of(request.user) is not None
        if enrolled and two_factor.is_missing(request.user):
            return HttpResponseRedirect(next_step(request, self.get_redirect_url()))
        self.enrolled = enrolled
        return super().dispatch(request, *args, **options)

    def get(self, request: HttpRequest) -> HttpResponse:
        if self.enrolled:
            return self._standing(EitherForm())
        key = two_factor.new_key()
        # The secret is in the session until a code confirms it. The secret is encrypted, as it will be in the database.
        request.session[_PENDING] = encryption.encrypt(key).decode()
        return self._set_up(key, CodeForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        if self.enrolled:
            return self._manage(request, EitherForm(request.POST))
        return self._confirm(request, CodeForm(request.POST))

    def _confirm(self, request: HttpRequest, form: CodeForm) -> HttpResponse:
        pending = request.session.get(_PENDING)
        if pending is None:
            return HttpResponseRedirect(request.get_full_path())
        key = encryption.decrypt(pending.encode())
        was_outside = two_factor.is_missing(request.user)
        if not form.is_valid():
            return self._set_up(key, form)
        try:
            authenticator, codes = two_factor.enrol(request.user, key, form.cleaned_data["code"])
        except two_factor.WrongCode:
            form.add_error("code", "Incorrect or expired code. Check that your phone’s clock is right.")
            return self._set_up(key, form)
        del request.session[_PENDING]
        sessions.verify(request, authenticator)
        audit.note(request, audit.What.TWO_FACTOR_ON)
        if was_outside:
            note_sign_in(request)
        return self._codes(codes, "Two-factor sign-in is on")

    def _manage(self, request: HttpRequest, form: CodeForm) -> HttpResponse:
        if not form.is_valid():
            return self._standing(form)
        if two_factor.check_either(request.user, form.cleaned_data["code"]) is None:
            audit.note(request, audit.What.CODE_FAILED)
            seconds = two_factor.seconds_to_wait(request.user)
            wait = f" Wait {seconds} seconds before the next try." if seconds > 1 else ""
            form.add_error("code", f"Incorrect, expired or already used code. Wait for the next one.{wait}")
            return self._standing(form)
        if request.POST.get("do") == "codes":
            codes = two_factor.renew_recovery_codes(request.user)
            audit.note(request, audit.What.RECOVERY_CODES_MADE)
            return self._codes(codes, "Your new recovery codes")
        two_factor.remove(request.user)
        sessions.outlive(request)
        audit.note(request, audit.What.TWO_FACTOR_OFF)
        messages.success(request, "The authenticator app was removed. Set up another one here.")
        return HttpResponseRedirect(reverse("admin:two_factor"))

    def _set_up(self, key: bytes, form: CodeForm) -> HttpResponse:
        return self._page(
            "admin/two_factor_set_up.html",
            title="Set up two-factor sign-in",
            form=form,
            qr=_qr(two_factor.enrolment_url(self.request.user, key)),
            secret=two_factor.key_text(key),
            demanded=two_factor.is_required(),
        )

    def _standing(self, form: CodeForm) -> HttpResponse:
        return self._page(
            "admin/two_factor.html",
            title="Two-factor sign-in",
            form=form,
            authenticator=two_factor.authenticator_of(self.request.user),
            left=two_factor.recovery_codes_left(self.request.user),
            demanded=two_factor.is_required(),
        )

    def _codes(self, codes: list[str], title: str) -> HttpResponse:
        """Return the page with the recovery codes. The codes are shown only here."""
        return self._page(
            "admin/recovery_codes.html",
            title=title,
            codes=codes,
            on=self.get_redirect_url() or reverse("admin:index"),
        )

    def _page(self, template: str, **context: Any) -> HttpResponse:
        context = {**self.site.each_context(self.request), "next": self.get_redirect_url(), **context}
        response = TemplateResponse(self.request, template, context)
        response["Cache-Control"] = "no-store"
        # The CSRF check needs the form's origin. With a stricter policy, browsers would not send the origin.
        response["Referrer-Policy"] = "same-origin"
        return response


def _qr(text: str) -> SafeString:
    """Return the QR code as SVG. The code is always dark on light, because some apps can't read an inverted code."""
    svg: str = segno.make(text, error="m", micro=False).svg_inline(
        scale=4, border=3, dark="#000", light="#fff", omitsize=True, svgclass="q-qr"
    )
    return mark_safe(svg)  # noqa: S308 - segno's own drawing; the text is drawn as squares, not written
