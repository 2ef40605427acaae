"""Portal pages for merchants and their API keys."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db import models, transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from config.admin import portal
from config.admin.cells import in_zone
from merchants.admin.code_lists import CodeListPages
from merchants.admin.contract_pages import CONTRACTS, shown_contracts
from merchants.admin.forms import EditKeyForm, MerchantPageForm, NewKeyForm, RotateForm
from merchants.admin.recipient_pages import RECIPIENTS, shown_recipients
from merchants.admin.trial_call import trial_call
from merchants.models import ApiKey, Merchant, Permission
from merchants.services import issue_key, revoke_key, rotate_key
from merchants.settings import note_settings
from merchants.staff import audit
from merchants.staff.roles import merchant_of
from merchants.staff.scope import MerchantScoped

_STATUS_COLOURS = {"active": "success", "expired": "warning", "revoked": "danger"}


def key_status(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "active" if key.is_active else "expired"


class KeyColumns:
    """The columns of a list of keys. The columns show only the beginning of a key."""

    @admin.display(description="Key", ordering="prefix")
    def stub(self, key: ApiKey) -> str:
        return f"{key.prefix}…"

    @admin.display(description="Status")
    def status(self, key: ApiKey) -> str:
        return portal.badge(key_status(key), _STATUS_COLOURS)

    @admin.display(description="Permissions")
    def permission_names(self, key: ApiKey) -> str:
        return key.rights

    @admin.display(description=in_zone("Last used"), ordering="last_used_at")
    def last_used(self, key: ApiKey) -> str:
        return portal.moment(key.last_used_at, "never")

    @admin.display(description=in_zone("Expires"), ordering="expires_at")
    def expires(self, key: ApiKey) -> str:
        return portal.moment(key.expires_at, "never")


class KeyInline(KeyColumns, MerchantScoped, portal.ReadOnly, portal.TabularInline[ApiKey, Merchant]):
    model = ApiKey
    extra = 0
    fields = readonly_fields = ("page", "name", "permission_names", "status", "last_used", "expires")
    verbose_name_plural = "API keys"
    hide_title = True
    per_page = 10

    @admin.display(description="Key")
    def page(self, key: ApiKey) -> str:
        return portal.link(portal.change_url(key), self.stub(key))


@admin.register(Merchant)
class MerchantAdmin(CodeListPages, MerchantScoped, portal.NeverDeleted, portal.ModelAdmin[Merchant]):
    merchant_path = "pk"
    code_lists = (RECIPIENTS, CONTRACTS)
    form = MerchantPageForm
    list_display = ("name", "shown_name", "references", "created_at", "id")
    list_per_page = 50
    search_fields = ("name", "display_name", "id")
    search_help_text = "Name or id"
    readonly_fields = ("id", "created_at", "preview", "recipient_list", "contract_list")
    inlines = (KeyInline,)
    formfield_overrides = {models.URLField: {"assume_scheme": "https"}}
    fieldsets = (
        ("Merchant", {"fields": ("name", "email", "id", "created_at")}),
        (
            "What customers see",
            {
                "fields": (
                    "display_name",
                    "logo_url",
                    ("accent_colour", "background_colour"),
                    ("support_url", "support_email"),
                    "default_language",
                    "show_order_number",
                    "preview",
                )
            },
        ),
        (
            "Payments",
            {
                "fields": (
                    "references",
                    "deposit_addresses",
                    "sponsored_payments",
                    "embed_origins",
                    "reporting_currency",
                )
            },
        ),
    )

    class Media:
        js = ("merchants/theme.js",)

    @admin.display(description="How the checkout will look")
    def preview(self, merchant: Merchant) -> str:
        """Return a preview of the checkout's header and button. The preview follows the form's colours and logo."""
        name = merchant.display_name or merchant.name or "Merchant"
        context = {"merchant": merchant, "name": name, "allow_http": settings.ALLOW_HTTP_URLS}
        return render_to_string("admin/merchants/merchant/preview.html", context)

    @admin.display(description="Wallets")
    def recipient_list(self, merchant: Merchant) -> str:
        return shown_recipients(merchant)

    @admin.display(description="Contracts")
    def contract_list(self, merchant: Merchant) -> str:
        return shown_contracts(merchant)

    @admin.display(description="Display name", empty_value="—")
    def shown_name(self, merchant: Merchant) -> str | None:
        return merchant.display_name or None

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Redirect a merchant's member to the merchant's page: the member's list would contain only this merchant."""
        own = merchant_of(request.user) if self.has_view_permission(request) else None
        if own is not None:
            return HttpResponseRedirect(portal.change_url(own))
        return super().changelist_view(request, extra_context)

    def get_readonly_fields(self, request: HttpRequest, obj: Merchant | None = None) -> tuple[str, ...]:
        """Make `name` read-only for owners.

        Operators use the name in commands to identify the merchant. Customers see the display name instead.
        """
        is_own = obj is not None and merchant_of(request.user) is not None
        return (*self.readonly_fields, "name") if is_own else self.readonly_fields

    def get_fieldsets(self, request: HttpRequest, obj: Merchant | None = None) -> Any:
        """Hide the sections and the hidden field that need an existing merchant."""
        (title, first), *others = self.fieldsets
        if obj is not None:
            hidden = ("seen",) if self.has_change_permission(request, obj) else ()
            first = {"fields": (*first["fields"], *hidden)}
            recipients = RECIPIENTS.section(request, obj, "recipient_list")
            contracts = CONTRACTS.section(request, obj, "contract_list")
            return ((title, first), *others, recipients, contracts)
        return (("New merchant", {"fields": ("name", "email")}), *others)

    def save_model(self, request: HttpRequest, obj: Merchant, form: Any, change: bool) -> None:
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            if not change:
                audit.note(request, audit.What.MERCHANT_CREATED, subject=obj, detail=str(obj.pk))
            elif form.changed_data:
                note_settings(obj, form.changed_data, request=request)

    def get_inlines(self, request: HttpRequest, obj: Merchant | None = None) -> Any:
        """Show the keys of an existing merchant, if there are any."""
        is_shown = (
            request.user.has_perm("merchants.view_apikey") and obj is not None and obj.api_keys.exists()
        )
        return self.inlines if is_shown else ()

    def beside(self, request: HttpRequest, merchant: Merchant | None) -> dict[str, Any]:
        may_issue_keys = request.user.has_perm("merchants.add_apikey")
        shown = {**super().beside(request, merchant), "may_issue_keys": may_issue_keys}
        if merchant_of(request.user) is not None:
            # Hide the back button: the list would redirect here. The theme would turn False into text, so use "".
            shown["show_back_button"] = ""
            shown["show_save_and_continue"] = False  # for these users, the save button does the same
        return shown


class StatusFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002 - the admin interface
        return [(status, status.capitalize()) for status in _STATUS_COLOURS]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:  # noqa: ARG002 - the admin interface
        expired = queryset.filter(revoked_at=None, expires_at__lte=timezone.now())
        chosen = {
            "active": queryset.filter(revoked_at=None).exclude(expires_at__lte=timezone.now()),
            "expired": expired,
            "revoked": queryset.exclude(revoked_at=None),
        }
        return chosen.get(self.value() or "", queryset)


@admin.register(ApiKey)
class ApiKeyAdmin(
    portal.ShowsMore, KeyColumns, MerchantScoped, portal.NeverDeleted, portal.ModelAdmin[ApiKey]
):
    """Issue, rotate and revoke keys. A key is shown only once, in the response to the form that created it."""

    list_display = (
        "stub",
        "name",
        "merchant",
        "permission_names",
        "status",
        "last_used",
        "expires",
    )
    list_per_page = 50
    list_select_related = ("merchant",)
    list_filter = (StatusFilter,)
    search_fields = ("name", "prefix", "merchant__name")
    search_help_text = "Name, merchant or first characters"
    autocomplete_fields = ("merchant",)
    shown = ("merchant", "stub", "status", "permission_names", "created_at", "last_used", "revoked_at")

    def get_form(
        self, request: HttpRequest, obj: ApiKey | None = None, change: bool = False, **options: Any
    ) -> type[ModelForm[ApiKey]]:
        options["form"] = NewKeyForm if obj is None else EditKeyForm
        form: type[ModelForm[ApiKey]] = super().get_form(request, obj, change, **options)
        if obj is None:  # Here users choose a merchant, but can't create or edit one.
            choice: Any = form.base_fields["merchant"].widget
            choice.can_add_related = choice.can_change_related = choice.can_view_related = False
            own = merchant_of(request.user)
            if own is not None:  # The user has one merchant, so there is no choice.
                form.base_fields["merchant"].disabled = True
                form.base_fields["merchant"].initial = own.pk
        return form

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Prefill the merchant from the query string.

        For members of a merchant, ignore the query string: they can't choose the merchant.
        """
        initial: dict[str, Any] = dict(super().get_changeform_initial_data(request))
        if merchant_of(request.user) is not None:
            initial.pop("merchant", None)
        return initial

    def get_fieldsets(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        if obj is None:
            new = ("merchant", "name", "permissions", "expires_at", "form_id")
            return (("New API key", {"fields": new}),)
        hidden = ("shown_expiry",) if self.has_change_permission(request, obj) else ()
        return (("Settings", {"fields": ("name", "expires_at", *hidden)}), ("Key", {"fields": self.shown}))

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> tuple[str, ...]:  # noqa: ARG002 - the admin interface
        return () if obj is None else self.shown

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(f"<int:key_id>/{name}/", self.admin_site.admin_view(view), name=f"merchants_apikey_{name}")
            for name, view in (("rotate", self.rotate_view), ("revoke", self.revoke_view))
        ]
        return [*own, *super().get_urls()]

    def beside(self, request: HttpRequest, key: ApiKey | None) -> dict[str, Any]:
        shown = super().beside(request, key)
        if key is None:
            return {**shown, "title": "Issue an API key", "may_rotate": False, "may_revoke": False}
        return {
            **shown,
            "may_rotate": key.is_active and self._may_rotate(request),
            "may_revoke": not key.revoked_at and self.has_change_permission(request),
        }

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:  # noqa: ARG002 - the admin interface
        """Save the changed fields. Only `add_view` creates keys."""
        obj.save(update_fields=form.changed_data)
        if form.changed_data:
            audit.note(request, audit.What.KEY_CHANGED, subject=obj, detail=", ".join(form.changed_data))

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Issue a key and return it in the response. There is no redirect, because its URL would contain the key."""
        if request.method == "POST" and self.has_add_permission(request):
            form = self.get_form(request)(request.POST)
            if form.is_valid():
                return self._issue(request, form)
        return super().add_view(request, form_url, extra_context)

    def _issue(self, request: HttpRequest, form: Any) -> HttpResponse:
        cleaned = form.cleaned_data
        with transaction.atomic():
            if not form.is_first_use():
                return self._already_done(request)
            row, key = issue_key(
                merchant=cleaned["merchant"],
                permissions=cleaned["permissions"],
                name=cleaned["name"],
                expires_at=cleaned["expires_at"],
            )
            self.log_addition(request, row, [{"added": {}}])
            audit.note(request, audit.What.KEY_ISSUED, subject=row, detail=f"{row.merchant}: {row.rights}")
        return self._show_once(request, row, key)

    def rotate_view(self, request: HttpRequest, key_id: int) -> HttpResponse:
        """Show the form. When it is submitted, rotate the key and return the new one in the response."""
        portal.demand(self._may_rotate(request))
        row = self.get_object(request, str(key_id))
        if row is None:
            return self._not_there(request, key_id)
        form = RotateForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            return self._rotate(request, row, form)
        return portal.confirmation(
            request,
            row,
            self,
            title=f"Rotate {row}",
            explanation="A new key with the same merchant, name and permissions replaces this one.",
            button="Create the new key",
            form=form,
        )

    def _rotate(self, request: HttpRequest, row: ApiKey, form: RotateForm) -> HttpResponse:
        with transaction.atomic():
            if not form.is_first_use():
                return self._already_done(request)
            old = ApiKey.objects.select_for_update(of=("self",)).select_related("merchant").get(pk=row.pk)
            if not old.is_active:
                messages.error(request, "This key is no longer active. Issue a new key instead.")
                return HttpResponseRedirect(portal.change_url(row))
            new, key = rotate_key(old, overlap=form.overlap_chosen(), expires_at=form.expiry_chosen())
            self.log_change(request, old, f"Replaced by {new.prefix}….")
            self.log_addition(request, new, f"Issued as a replacement for {old.prefix}….")
            audit.note(
                request, audit.What.KEY_ROTATED, subject=old, detail=f"{old.merchant}: now {new.prefix}…"
            )
        old.refresh_from_db()
        return self._show_once(request, new, key, replaced=old)

    def revoke_view(self, request: HttpRequest, key_id: int) -> HttpResponse:
        portal.demand(self.has_change_permission(request))
        row = self.get_object(request, str(key_id))
        if row is None:
            return self._not_there(request, key_id)
        if request.method == "POST":
            with transaction.atomic():
                revoke_key(row)
                self.log_change(request, row, "Revoked.")
                audit.note(request, audit.What.KEY_REVOKED, subject=row, detail=str(row.merchant))
            messages.success(request, f"{row.prefix}… is revoked. API calls with it are now rejected.")
            return HttpResponseRedirect(portal.change_url(row))
        return portal.confirmation(
            request,
            row,
            self,
            title=f"Revoke {row}",
            explanation=(
                f"All API calls by {row.merchant} with this key are rejected immediately. This can't be undone."
            ),
            button="Revoke the key",
            dangerous=True,
        )

    def _show_once(
        self, request: HttpRequest, row: ApiKey, key: str, replaced: ApiKey | None = None
    ) -> HttpResponse:
        """Return the only page that ever shows `key`."""
        context = {
            **self.admin_site.each_context(request),
            "opts": ApiKey._meta,
            "title": "Your new API key",
            "row": row,
            "key": key,
            "replaced": replaced,
            "permissions": [Permission(name) for name in row.permissions],
            "trial": trial_call(row),
            "list_url": reverse("admin:merchants_apikey_changelist"),
            "key_url": portal.change_url(row),
        }
        response = TemplateResponse(request, "admin/merchants/apikey/issued.html", context)
        response["Cache-Control"] = "no-store"
        # The CSRF check needs the form's origin. With a stricter policy, browsers would not send the origin.
        response["Referrer-Policy"] = "same-origin"
        return response

    def _may_rotate(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_change_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return super().has_change_permission(request, obj) and (obj is None or obj.revoked_at is None)

    def _already_done(self, request: HttpRequest) -> HttpResponse:
        messages.warning(
            request,
            "This form was already submitted and its key can't be shown again. "
            "If you didn't save the key, revoke it and issue another.",
        )
        return HttpResponseRedirect(reverse("admin:merchants_apikey_changelist"))

    def _not_there(self, request: HttpRequest, key_id: int) -> HttpResponse:
        messages.error(request, f"There is no API key {key_id}.")
        return HttpResponseRedirect(reverse("admin:merchants_apikey_changelist"))
