"""The portal's page that creates a payment request or a payment link, with the same services as the API."""

from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import messages
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from rest_framework.exceptions import ValidationError

from chains.switches import require_offered
from config.admin import portal
from config.admin.actions import actor_of
from config.api.errors import ApiError
from config.api.handler import as_api_error
from merchants.identifiers import parse_uuid
from merchants.models import Merchant
from merchants.staff.roles import merchant_of, visible_to
from payments.admin.creating.forms import LinkForm, MerchantForm, RequestForm
from payments.admin.creating.sharing import print_view
from payments.api.link_serializers import CreateLinkSerializer
from payments.api.serializers import CreateRequestSerializer
from payments.links.services import NewLink, create_link, require_convertible
from payments.prices.pricing import with_amount
from payments.requests.creation import NewRequest, create_request
from payments.sandbox.rates import require_rate

if TYPE_CHECKING:
    _AdminClass = portal.ModelAdmin[Any]
else:
    _AdminClass = object


class Creates(_AdminClass):
    """Add two pages to an admin class: the form for a new object, and a printable page. Must be the first base
    class.
    """

    creating_form: ClassVar[type[RequestForm] | type[LinkForm]]
    creating_title: ClassVar[str]
    creating_explanation: ClassVar[str]
    creating_button: ClassVar[str]

    def prepare(self, body: dict[str, Any], merchant: Merchant) -> Any:
        """Validate the body. Queries the chain and the rate sources. Raises ApiError or ValidationError."""
        raise NotImplementedError

    def create(self, merchant: Merchant, prepared: Any, *, actor: str) -> Model:
        """Create the object in the current transaction. Raises ApiError."""
        raise NotImplementedError

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the admin interface
        meta = self.model._meta
        return request.user.has_perm(f"{meta.app_label}.add_{meta.model_name}")

    def get_urls(self) -> list[URLPattern]:
        meta = self.model._meta
        own = [
            path(
                address,
                self.admin_site.admin_view(view),
                name=f"{meta.app_label}_{meta.model_name}_{name}",
            )
            for address, view, name in (
                ("add/", self.create_page, "add"),
                ("<path:object_id>/print/", self.print_page, "print"),
            )
        ]
        return [*own, *super().get_urls()]

    def print_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return print_view(self, request, object_id)

    def create_page(self, request: HttpRequest) -> HttpResponse:
        """Show the form, or create the object from a submitted form. Users who see all merchants choose one first."""
        portal.demand(self.has_add_permission(request))
        merchant = _merchant_for(request)
        if merchant is None:
            merchants = visible_to(request.user, Merchant.objects.all(), "pk")
            return self._page(request, MerchantForm(merchants), button="Continue", method="get")
        form = self.creating_form(merchant, request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            created = self._create(request, merchant, form)
            if created is not None:
                return created
        return self._page(request, form, button=self.creating_button, merchant=merchant)

    def _create(
        self, request: HttpRequest, merchant: Merchant, form: RequestForm | LinkForm
    ) -> HttpResponse | None:
        """Create the object and redirect to its page. Return None if the form has errors."""
        try:
            prepared = self.prepare(form.body(), merchant)
            with transaction.atomic():
                if not form.is_first_use():
                    messages.warning(request, "This form was sent already. Nothing more was created.")
                    return HttpResponseRedirect(self._list_url())
                row = self.create(merchant, prepared, actor=actor_of(request))
                self.log_addition(request, row, "Created.")
        except (ApiError, ValidationError) as error:
            problems = error if isinstance(error, ApiError) else as_api_error(error)
            for problem in problems.problems:
                form.show(problem)
            return None
        messages.success(request, "Created. Share it with the link, the code or the page to print.")
        return HttpResponseRedirect(portal.change_url(row))

    def _page(
        self,
        request: HttpRequest,
        form: Any,
        *,
        button: str,
        method: str = "post",
        merchant: Merchant | None = None,
    ) -> HttpResponse:
        title = f"{self.creating_title} for {merchant}" if merchant else self.creating_title
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "title": title,
            "explanation": self.creating_explanation,
            "button": button,
            "form": form,
            "method": method,
            "back_url": self._list_url(),
        }
        return TemplateResponse(request, "admin/payments/create.html", context)

    def _list_url(self) -> str:
        meta = self.model._meta
        return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


class CreatesRequests(Creates):
    creating_form = RequestForm
    creating_title = "New payment request"
    creating_explanation = (
        "Requests one payment from one customer. You get a link, a QR code and a page to print for it."
    )
    creating_button = "Create the request"

    def prepare(self, body: dict[str, Any], merchant: Merchant) -> NewRequest:
        order = CreateRequestSerializer.order(body, merchant)
        require_offered(order.token)
        require_rate(order)
        return with_amount(order)

    def create(self, merchant: Merchant, prepared: NewRequest, *, actor: str) -> Model:
        return create_request(merchant, prepared, actor=actor)


class CreatesLinks(Creates):
    creating_form = LinkForm
    creating_title = "New payment link"
    creating_explanation = (
        "One address for any number of customers. Each customer who continues there gets a payment request of "
        "their own."
    )
    creating_button = "Create the link"

    def prepare(self, body: dict[str, Any], merchant: Merchant) -> NewLink:
        new = CreateLinkSerializer.new_link(body, merchant)
        require_offered(new.token)
        require_convertible(new)
        return new

    def create(self, merchant: Merchant, prepared: NewLink, *, actor: str) -> Model:
        return create_link(merchant, prepared, actor=actor)


def _merchant_for(request: HttpRequest) -> Merchant | None:
    """Return the user's own merchant. A user who sees several merchants has to choose one. Return None until a
    merchant is chosen.
    """
    own = merchant_of(request.user)
    if own is not None:
        return own
    chosen = parse_uuid(request.GET.get("merchant", ""))
    visible = visible_to(cast(Any, request.user), Merchant.objects.all(), "pk")
    return visible.filter(pk=chosen).first() if chosen else None
