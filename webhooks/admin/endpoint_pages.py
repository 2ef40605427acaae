"""The portal's pages to change or test a webhook endpoint, and to rotate or show its secret."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from rest_framework.exceptions import ValidationError

from config.admin import portal
from config.admin.actions import ConfirmForm, digested, out_of_date
from config.api.errors import ApiError
from config.api.handler import as_api_error
from merchants.admin.fresh_code import FactorForm, is_confirmed, set_up_first
from merchants.identifiers import parse_uuid
from merchants.models import Merchant
from merchants.sign_in import two_factor
from merchants.staff import audit
from merchants.staff.roles import merchant_of
from webhooks.api.serializers import EndpointChangeSerializer
from webhooks.dispatch.testing import record_test_event, send_test_event
from webhooks.endpoints.configuration import configure, reveal_secret, rotate_secret
from webhooks.event_types import EventType
from webhooks.models import Endpoint

CONFIGURE = "webhooks.configure_endpoint"


class EndpointForm(ConfirmForm):
    """The form has the settings of `PUT /api/webhooks`. The serializer of that call validates them.

    `seen` is a digest of the settings when the page was opened, or an empty text if there was no endpoint.
    """

    url = forms.CharField(
        label="URL",
        max_length=2048,
        required=False,
        widget=portal.TextInput(attrs={"type": "url", "autocomplete": "off", "spellcheck": "false"}),
        help_text=(
            "The https URL at which your server receives events. Private addresses are rejected. If it is empty, no "
            "events are sent."
        ),
    )
    is_enabled = forms.BooleanField(
        label="Enabled",
        required=False,
        initial=True,
        help_text="If disabled, pending deliveries wait, and new events aren't delivered.",
    )
    enabled_events = forms.MultipleChoiceField(
        label="Events", choices=EventType.choices, widget=portal.Checkboxes
    )

    def __init__(self, data: Any = None, *, endpoint: Endpoint | None) -> None:
        types = endpoint.event_types if endpoint else Endpoint().event_types
        initial: dict[str, Any] = {"enabled_events": types, "seen": _digest_of(endpoint)}
        if endpoint is not None:
            initial |= {"url": endpoint.url or "", "is_enabled": endpoint.is_enabled}
        super().__init__(data, initial=initial)

    def body(self) -> dict[str, Any]:
        """Return the body of a call `PUT /api/webhooks` that would make the same change."""
        cleaned = self.cleaned_data
        return {
            "url": cleaned["url"] or None,
            "is_enabled": cleaned["is_enabled"],
            "enabled_events": cleaned["enabled_events"],
        }


class TestForm(forms.Form):
    type = forms.ChoiceField(label="Event", choices=EventType.choices, widget=portal.Select)


class EndpointPages(portal.ShowsMore):
    """Mixin for the endpoint admin. Operators can configure and test an endpoint, but can't see its secret."""

    empty_hint = "No events are sent. Owners and members with the role developer can set up an endpoint."

    def get_urls(self) -> list[URLPattern]:
        pages = (
            ("configure", self.configure_view),
            ("test", self.test_view),
            ("rotate", self.rotate_view),
            ("reveal", self.reveal_view),
        )
        own = [
            path(
                f"<int:endpoint_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"webhooks_endpoint_{name}",
            )
            for name, view in pages
        ]
        add = path("add/", self.admin_site.admin_view(self.set_up_view), name="webhooks_endpoint_add")
        return [*own, add, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        own = merchant_of(request.user)
        is_missing = own is not None and not Endpoint.objects.filter(merchant=own).exists()
        offered = is_missing and request.user.has_perm(CONFIGURE)
        url = reverse("admin:webhooks_endpoint_add") if offered else ""
        return super().changelist_view(request, {"set_up_url": url, **(extra_context or {})})

    def beside(self, request: HttpRequest, endpoint: Endpoint | None) -> dict[str, Any]:
        offered = []
        if endpoint is not None and request.user.has_perm(CONFIGURE):
            buttons = [("Change", "edit", "configure")]
            if endpoint.url:
                buttons.append(("Send a test", "send", "test"))
            if merchant_of(request.user) is not None:
                buttons += [
                    ("Reveal the secret", "visibility", "reveal"),
                    ("Rotate the secret", "autorenew", "rotate"),
                ]
            offered = [
                {"label": label, "icon": icon, "url": _url(endpoint, name)} for label, icon, name in buttons
            ]
        return {**super().beside(request, endpoint), "offered": offered}

    def set_up_view(self, request: HttpRequest) -> HttpResponse:
        """Set up the endpoint of the user's merchant or, for operators, of the merchant in the query string."""
        portal.demand(request.user.has_perm(CONFIGURE))
        merchant = merchant_of(request.user)
        if merchant is None:
            id_ = parse_uuid(request.GET.get("merchant", ""))
            merchant = Merchant.objects.filter(pk=id_).first() if id_ else None
            if merchant is None:
                messages.info(request, "Open the merchant’s page and choose Webhooks there.")
                return HttpResponseRedirect(reverse("admin:merchants_merchant_changelist"))
        endpoint = Endpoint.objects.filter(merchant=merchant).first()
        if endpoint is not None:
            return HttpResponseRedirect(_url(endpoint, "configure"))
        return self._configure(request, merchant, None)

    def configure_view(self, request: HttpRequest, endpoint_id: int) -> HttpResponse:
        endpoint = self._endpoint(request, endpoint_id)
        return self._configure(request, endpoint.merchant, endpoint)

    def _configure(self, request: HttpRequest, merchant: Merchant, endpoint: Endpoint | None) -> HttpResponse:
        form = EndpointForm(request.POST if request.method == "POST" else None, endpoint=endpoint)
        if request.method == "POST" and form.is_valid() and self._apply(request, merchant, form):
            saved = Endpoint.objects.filter(merchant=merchant).first()
            return HttpResponseRedirect(portal.change_url(saved) if saved else _list_url())
        return portal.form_page(
            request,
            self,
            form=form,
            title=f"Webhook endpoint of {merchant}",
            explanation="We send an event to this URL for each change that you choose, signed with your secret.",
            button="Save",
            back_url=portal.change_url(endpoint) if endpoint else _list_url(),
        )

    def _apply(self, request: HttpRequest, merchant: Merchant, form: EndpointForm) -> bool:
        """Validate the settings as the API does, and save them. Return False if the form has errors.

        A page that shows old settings is an error. Otherwise it would restore them.
        """
        body = EndpointChangeSerializer(data=form.body())
        try:
            body.is_valid(raise_exception=True)
            with transaction.atomic():
                current = Endpoint.objects.select_for_update().filter(merchant=merchant).first()
                if form.cleaned_data["seen"] != _digest_of(current):
                    form.add_error(None, out_of_date("the endpoint"))
                    return False
                configure(merchant, body.change(), request=request)
        except (ValidationError, ApiError) as error:
            for problem in as_api_error(error).problems:
                field = (problem.param or "").partition(".")[0].partition("[")[0]
                form.add_error(field if field in form.fields else None, problem.message)
            return False
        messages.success(request, "The webhook endpoint was saved.")
        return True

    def test_view(self, request: HttpRequest, endpoint_id: int) -> HttpResponse:
        endpoint = self._endpoint(request, endpoint_id)
        form = TestForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                sent = send_test_event(endpoint.merchant, EventType(form.cleaned_data["type"]))
            except ApiError as error:
                messages.error(request, str(error.detail))
                return HttpResponseRedirect(portal.change_url(endpoint))
            delivery = record_test_event(sent)
            result = "delivered" if sent.answer.is_success else "failed"
            audit.note(
                request,
                audit.What.WEBHOOK_TESTED,
                subject=endpoint.merchant,
                detail=f"{sent.type.value}: {result}",
            )
            if sent.answer.is_success:
                messages.success(request, "Your server received the test event.")
            else:
                messages.error(request, "The test event was not received. The attempt below says why.")
            return HttpResponseRedirect(portal.change_url(delivery))
        return portal.form_page(
            request,
            self,
            form=form,
            title="Send a test event",
            explanation=f"Sends one event with sample data to {endpoint.url or 'no URL'} now, without retries.",
            button="Send it",
            back_url=portal.change_url(endpoint),
        )

    def rotate_view(self, request: HttpRequest, endpoint_id: int) -> HttpResponse:
        return self._with_secret(
            request,
            endpoint_id,
            rotate_secret,
            title="Rotate the webhook secret",
            explanation=(
                "A new secret signs from now on. The old one also signs for 24 hours, so that your server can change "
                "over without a gap. The new secret is shown on the next page."
            ),
            button="Rotate the secret",
        )

    def reveal_view(self, request: HttpRequest, endpoint_id: int) -> HttpResponse:
        return self._with_secret(
            request,
            endpoint_id,
            reveal_secret,
            title="Reveal the webhook secret",
            explanation="Your server verifies our signatures with it. Keep it on the server.",
            button="Reveal the secret",
        )

    def _with_secret(
        self, request: HttpRequest, endpoint_id: int, act: Any, *, title: str, explanation: str, button: str
    ) -> HttpResponse:
        """Require a new second-factor code. Then call `act`, and show the secret that it returns."""
        endpoint = self._endpoint(request, endpoint_id)
        if merchant_of(request.user) is None:
            raise PermissionDenied
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "seeing the webhook secret")
        form = FactorForm(request.POST or None)
        if not is_confirmed(request, form):
            return portal.form_page(
                request,
                self,
                form=form,
                title=title,
                explanation=explanation,
                button=button,
                back_url=portal.change_url(endpoint),
            )
        return portal.shown_once(
            request,
            self,
            title="Your webhook secret",
            text="Store it in your server’s secret store. Verify the signature of each event with it.",
            secret=act(endpoint.merchant, request=request),
            label="Copy secret",
            back_url=portal.change_url(endpoint),
        )

    def _endpoint(self, request: HttpRequest, endpoint_id: int) -> Endpoint:
        portal.demand(request.user.has_perm(CONFIGURE))
        endpoint: Endpoint | None = self.get_object(request, str(endpoint_id))
        if endpoint is None:
            raise Http404
        return endpoint


def _digest_of(endpoint: Endpoint | None) -> str:
    if endpoint is None:
        return ""
    return digested([endpoint.url, endpoint.is_enabled, sorted(endpoint.event_types)])


def _url(endpoint: Endpoint, name: str) -> str:
    return reverse(f"admin:webhooks_endpoint_{name}", args=(endpoint.pk,))


def _list_url() -> str:
    return reverse("admin:webhooks_endpoint_changelist")
