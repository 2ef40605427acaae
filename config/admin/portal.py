"""Shared parts of all admin pages: theme classes, sections and read-only records.

The base classes are from the theme django-unfold. For the type checker, they are replaced by Django's own classes.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django import forms
from django.conf import settings
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.core.exceptions import FieldDoesNotExist, PermissionDenied, ValidationError
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import cached_property
from django.utils.html import format_html

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin as _ThemedAdmin
    from django.contrib.admin import TabularInline
    from django.contrib.admin.options import BaseModelAdmin
    from django.contrib.admin.views.main import ChangeList
    from django.contrib.auth.forms import AdminPasswordChangeForm as PasswordForm
    from django.contrib.auth.forms import AdminUserCreationForm as NewUserForm
    from django.contrib.auth.forms import UserChangeForm as UserForm
    from django.forms import CheckboxInput as Checkbox
    from django.forms import CheckboxSelectMultiple as Checkboxes
    from django.forms import EmailInput, PasswordInput, Select, Textarea, TextInput
    from django.forms import RadioSelect as Radios

    _AdminClass = BaseModelAdmin[Any]
    _Records = Paginator[Any]
else:
    from unfold.admin import ModelAdmin as _ThemedAdmin
    from unfold.admin import TabularInline
    from unfold.forms import AdminPasswordChangeForm as PasswordForm
    from unfold.forms import UserChangeForm as UserForm
    from unfold.forms import UserCreationForm as NewUserForm
    from unfold.views import ChangeList
    from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget as Checkboxes
    from unfold.widgets import UnfoldAdminEmailInputWidget as EmailInput
    from unfold.widgets import UnfoldAdminPasswordWidget as PasswordInput
    from unfold.widgets import UnfoldAdminRadioSelectWidget as Radios
    from unfold.widgets import UnfoldAdminSelectWidget as Select
    from unfold.widgets import UnfoldAdminTextareaWidget as Textarea
    from unfold.widgets import UnfoldAdminTextInputWidget as TextInput
    from unfold.widgets import UnfoldBooleanWidget as Checkbox

    _AdminClass = object
    _Records = Paginator

__all__ = [
    "Checkbox",
    "Checkboxes",
    "EmailInput",
    "ModelAdmin",
    "NewUserForm",
    "PasswordForm",
    "PasswordInput",
    "Radios",
    "Select",
    "TabularInline",
    "TextInput",
    "Textarea",
    "UserForm",
]

COUNTED_AT_MOST = 10_000
SAME_LABELS = {"id": "ID", "email": "Email"}

_Row = TypeVar("_Row", bound=Model)


class ModelAdmin(_ThemedAdmin[_Row]):
    """The base of all admin pages.

    `linked_by` has the fields by which links of other pages filter the list, although the list has no such filter.
    """

    linked_by: ClassVar[tuple[str, ...]] = ()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only fields that have a filter or are in `linked_by`.

        Django allows lookups on every field of the model. So a URL such as `?actor__startswith=a` could read hidden
        fields character by character.
        """
        if not super().lookup_allowed(lookup, value, request):
            return False
        try:
            name = self.model._meta.get_field(lookup.split("__")[0]).name
        except FieldDoesNotExist:
            return True  # for example, the parameter of a filter
        filters = (
            each[0] if isinstance(each, tuple | list) else each for each in self.get_list_filter(request)
        )
        paths = (getattr(each, "parameter_name", each) for each in filters)
        return name in self.linked_by or name in {str(each).split("__")[0] for each in paths}

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show members of a merchant "the operator" in place of the names of operators and support."""
        response = super().history_view(request, object_id, extra_context)
        if _own_merchant(request) is not None and isinstance(response, TemplateResponse):
            entries = list((response.context_data or {})["action_list"])
            prefetch_related_objects(entries, "user__membership")
            for entry in entries:
                # Former members have no membership. They keep their names.
                membership = getattr(entry.user, "membership", None)
                if entry.user.is_superuser or (membership is not None and membership.merchant_id is None):
                    entry.user = User(username="the operator")
        return response


if TYPE_CHECKING:
    _PageClass = ModelAdmin[Any]
else:
    _PageClass = object


class ShowsMore(_PageClass):
    """Mixin for a change page that shows more than the object's fields."""

    def beside(self, request: HttpRequest, row: Any) -> dict[str, Any]:  # noqa: ARG002 - for those who extend it
        """Return extra context for the template. `row` is None on the add page."""
        return {}

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any
    ) -> type[forms.ModelForm[Any]]:
        """Use the labels of `SAME_LABELS`, because models of other apps label the same field differently."""
        meta = getattr(options.get("form", self.form), "Meta", None)
        labels = {**SAME_LABELS, **(getattr(meta, "labels", None) or {}), **options.get("labels", {})}
        return super().get_form(request, obj, change=change, **{**options, "labels": labels})

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        context = {**context, **self.beside(request, obj)}
        return super().render_change_form(request, context, add, change, form_url, obj)


class NeverDeleted(_AdminClass):
    """Admin for records that staff can't delete."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the admin interface
        return False


class ReadOnly(NeverDeleted):
    """Admin for records that staff can only read, such as events."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the admin interface
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002 - the admin interface
        return False


class BoundedPaginator(_Records):
    """Counts at most 10,000 rows, because counting a table of millions takes seconds."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if isinstance(rows, QuerySet):
            return rows.order_by()[:COUNTED_AT_MOST].count()
        return len(rows)


class RecordList(ChangeList):
    """A change list that hides the "show all" link while no filter is set."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count


class LinesField(forms.CharField):
    """A list of strings, one per line. `check` returns the normalised line or raises ValueError."""

    widget = Textarea

    def __init__(self, *, check: Callable[[str], str], **options: Any) -> None:
        self.check_line = check
        super().__init__(widget=Textarea(attrs={"rows": 3}), **options)

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        lines = [line.strip() for line in str(value or "").splitlines() if line.strip()]
        try:
            return list(dict.fromkeys(self.check_line(line) for line in lines))
        except ValueError as error:
            raise ValidationError(str(error)) from error


def badge(word: str, colours: dict[str, str]) -> str:
    """Return `word` as a coloured badge; `colours` maps words to success, info, warning or danger."""
    return render_to_string("unfold/helpers/label.html", {"text": word, "type": colours.get(word, "")})


def moment(time: datetime | None, otherwise: str = "—") -> str:
    """Return a time for a column, in the user's time zone."""
    return date_format(timezone.localtime(time), "DATETIME_FORMAT") if time else otherwise


def link(url: str, text: str) -> str:
    return format_html('<a href="{}" class="text-link" rel="noreferrer">{}</a>', url, text)


def confirmation(
    request: HttpRequest,
    obj: Model,
    admin: "ModelAdmin[Any]",
    *,
    title: str,
    explanation: str,
    button: str,
    form: forms.Form | None = None,
    dangerous: bool = False,
) -> TemplateResponse:
    """Return the confirmation page of an action on `obj`. Its button posts to the page's own URL."""
    page = form_page(
        request,
        admin,
        title=title,
        explanation=explanation,
        button=button,
        form=form,
        dangerous=dangerous,
        back_url=change_url(obj),
    )
    page.context_data = {**(page.context_data or {}), "original": obj}
    return page


def form_page(
    request: HttpRequest,
    admin: "ModelAdmin[Any]",
    *,
    title: str,
    explanation: str,
    button: str,
    back_url: str,
    form: forms.Form | None = None,
    dangerous: bool = False,
) -> TemplateResponse:
    """Return a page with a form that posts to the page's own URL."""
    context = {
        **admin.admin_site.each_context(request),
        "opts": admin.model._meta,
        "title": title,
        "explanation": explanation,
        "button": button,
        "form": form,
        "dangerous": dangerous,
        "back_url": back_url,
    }
    return TemplateResponse(request, "admin/confirmation.html", context)


def shown_once(
    request: HttpRequest,
    admin: "ModelAdmin[Any]",
    *,
    title: str,
    text: str,
    secret: str,
    back_url: str,
    label: str = "Copy link",
) -> HttpResponse:
    """Return a page that shows a secret, such as a link. No cache stores the page."""
    context = {
        **admin.admin_site.each_context(request),
        "opts": admin.model._meta,
        "title": title,
        "text": text,
        "link": secret,
        "label": label,
        "back_url": back_url,
    }
    response = TemplateResponse(request, "admin/one_time_link.html", context)
    response["Cache-Control"] = "no-store"
    # The CSRF check needs the form's origin. With a stricter policy, browsers don't send it.
    response["Referrer-Policy"] = "same-origin"
    return response


def change_url(obj: Model) -> str:
    # The admin unquotes the id in the URL: without quoting, it would turn "pay_3A" into "pay:".
    return reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_change", args=(quote(obj.pk),))


def demand(allowed: bool) -> None:
    if not allowed:
        raise PermissionDenied


def sections(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the menu. A member of a merchant sees that merchant's settings instead of the list of merchants."""
    home = {"title": "Dashboard", "icon": "monitoring", "link": reverse("admin:index")}
    shown: list[dict[str, Any]] = [{"items": [home]}]
    own = _own_merchant(request)
    for title, pages in _SECTIONS.items():
        items = [
            {"title": name, "icon": icon, "link": reverse(f"admin:{model.replace('.', '_')}_changelist")}
            for name, icon, model in pages
            if request.user.has_perm(model.replace(".", ".view_"))
        ]
        if items and own and title == "Merchants":
            page = reverse("admin:merchants_merchant_change", args=(own,))
            items[0] = {"title": "Settings", "icon": "tune", "link": page}
            title = "Merchant"
        if items:
            shown.append({"title": title, "items": items})
    return shown


def _own_merchant(request: HttpRequest) -> Any:
    """Return the id of the merchant whose member the user is. Return None for operators and support."""
    return getattr(getattr(request.user, "membership", None), "merchant_id", None)


def environment_label(request: HttpRequest) -> list[str] | None:  # noqa: ARG001 - the theme's interface
    """Return the label that marks a staging deployment, and its colour. Return None in production."""
    return ["TEST", "warning"] if settings.ENVIRONMENT == "staging" else None


def account_links(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the links to the user's own account pages."""
    merchant = getattr(getattr(request.user, "membership", None), "merchant", None)
    notices = [{"title": "E-mail notices", "link": reverse("admin:notices")}] if merchant else []
    return [
        *notices,
        {"title": "Two-factor sign-in", "link": reverse("admin:two_factor")},
        {"title": "Time zone", "link": reverse("admin:time_zone")},
        {"title": "Change password", "link": reverse("admin:password_change")},
    ]


_SECTIONS = {
    "Merchants": [
        ("Merchants", "storefront", "merchants.merchant"),
        ("API keys", "key", "merchants.apikey"),
    ],
    "Payments": [
        ("Payment requests", "receipt_long", "payments.paymentrequest"),
        ("Payment links", "link", "payments.paymentlink"),
        ("Payments", "payments", "payments.payment"),
        ("Refunds", "undo", "payments.refund"),
        ("Deposit addresses", "move_to_inbox", "payments.depositaddress"),
        ("Credited transfers", "task_alt", "payments.consumedtransfer"),
        ("Status changes", "history", "payments.transition"),
    ],
    "Webhooks": [
        ("Endpoints", "webhook", "webhooks.endpoint"),
        ("Events", "bolt", "webhooks.event"),
        ("Deliveries", "outgoing_mail", "webhooks.delivery"),
    ],
    "Catalogue": [
        ("Chains", "hub", "chains.chain"),
        ("Tokens", "token", "chains.token"),
        ("Kill switches", "emergency_home", "chains.switch"),
    ],
    "Team": [
        ("Members", "group", "merchants.staffmembership"),
        ("Invitations", "mail", "merchants.invitation"),
        ("Users", "person", "auth.user"),
        ("Security log", "policy", "merchants.auditentry"),
    ],
}
