"""The portal's pages that change a merchant's lists of addresses. Each change needs a new second-factor code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path

from chains.families import AddressError
from config.admin import portal
from merchants.admin.fresh_code import FactorForm, is_code_right, is_confirmed, set_up_first
from merchants.models import Merchant
from merchants.recipients import parse_recipient
from merchants.sign_in import two_factor

Recipient = tuple[str, str]
"""A chain family's key and the canonical address."""


class Entry(Protocol):
    """A row of an address list."""

    chain_type: str
    address: str


class AddForm(FactorForm):
    """The address to add."""

    address = forms.CharField(
        max_length=100,
        widget=portal.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}
        ),
    )
    field_order: Sequence[str] = ("address", "code")

    def clean_address(self) -> Recipient:
        try:
            return parse_recipient(self.cleaned_data["address"])
        except AddressError as error:
            raise forms.ValidationError(str(error)) from error


class RemoveForm(FactorForm):
    """The entry to remove."""

    def __init__(
        self, name: str, label: str, rows: QuerySet[Any], gone: str, *args: Any, **options: Any
    ) -> None:
        super().__init__(*args, **options)
        field = forms.ModelChoiceField(rows, widget=portal.Radios, empty_label=None, label=label)
        field.error_messages["invalid_choice"] = gone
        self.fields[name] = field
        self.order_fields((name, "code"))


@dataclass(frozen=True, kw_only=True)
class AddressList:
    """A merchant's list of addresses, and the texts of its pages.

    In titles, `{}` is replaced by the merchant's name. In other texts, `{}` is replaced by the address.

    - `rows`: the name of the Merchant attribute that has the list's rows.
    - `entry`, `label`: the name and the label of the form field for the row to remove.
    - `action`: the name of the change, for the message that the change requires a code.
    - `adding`, `removing`: the URL names of the two pages.
    - `template`: the template with the links to the two pages.
    - `add`: returns False if another user has added the address at the same time.
    - `remove`: raises LookupError if another user has removed the address at the same time.
    """

    rows: str
    permission: str
    action: str
    title: str
    template: str

    adding: str
    form: type[AddForm]
    add: Callable[[Merchant, Recipient, HttpRequest], bool]
    add_title: str
    add_text: Callable[[Merchant], str]
    add_button: str
    is_adding_dangerous: bool = False
    already: str
    added: str
    log_of_adding: str

    removing: str
    remove: Callable[[Merchant, Recipient, HttpRequest], None]
    entry: str
    label: str
    remove_title: str
    remove_text: Callable[[Merchant], str]
    remove_button: str
    is_removing_dangerous: bool = False
    empty: str
    gone: str
    removed: str
    log_of_removing: str
    warning_when_empty: str = ""

    def rows_of(self, merchant: Merchant) -> QuerySet[Any]:
        rows: QuerySet[Any] = getattr(merchant, self.rows).all()
        return rows

    def section(self, request: HttpRequest, merchant: Merchant, field: str) -> tuple[str, dict[str, Any]]:
        """Return the list's section on the merchant's page. Users who may change the list see links there."""
        context = {
            "merchant": merchant,
            "may_change": request.user.has_perm(self.permission),
            "has_any": self.rows_of(merchant).exists(),
        }
        return self.title, {"fields": (field,), "description": render_to_string(self.template, context)}


class CodeListPages(portal.ShowsMore):
    """Mixin for the merchant admin. Each address list gets two pages: one to add and one to remove an address."""

    code_lists: ClassVar[tuple[AddressList, ...]] = ()

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<uuid:merchant_id>/{name.replace('_', '-')}/",
                self.admin_site.admin_view(partial(view, addresses=addresses)),
                name=f"merchants_merchant_{name}",
            )
            for addresses in self.code_lists
            for name, view in (
                (addresses.adding, self.add_entry_view),
                (addresses.removing, self.remove_entry_view),
            )
        ]
        return [*own, *super().get_urls()]

    def add_entry_view(
        self, request: HttpRequest, merchant_id: str, *, addresses: AddressList
    ) -> HttpResponse:
        merchant = self._merchant(request, merchant_id, addresses)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, addresses.action)
        form = addresses.form(request.POST or None)
        if request.method == "POST" and form.is_valid() and self._add(request, merchant, addresses, form):
            return HttpResponseRedirect(portal.change_url(merchant))
        return portal.confirmation(
            request,
            merchant,
            self,
            title=addresses.add_title.format(merchant),
            explanation=addresses.add_text(merchant),
            button=addresses.add_button,
            form=form,
            dangerous=addresses.is_adding_dangerous,
        )

    def remove_entry_view(
        self, request: HttpRequest, merchant_id: str, *, addresses: AddressList
    ) -> HttpResponse:
        merchant = self._merchant(request, merchant_id, addresses)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, addresses.action)
        rows = addresses.rows_of(merchant)
        if request.method != "POST" and not rows.exists():
            messages.info(request, addresses.empty)
            return HttpResponseRedirect(portal.change_url(merchant))
        form = RemoveForm(addresses.entry, addresses.label, rows, addresses.gone, request.POST or None)
        if is_confirmed(request, form):
            self._remove(request, merchant, addresses, form.cleaned_data[addresses.entry])
            return HttpResponseRedirect(portal.change_url(merchant))
        return portal.confirmation(
            request,
            merchant,
            self,
            title=addresses.remove_title.format(merchant),
            explanation=addresses.remove_text(merchant),
            button=addresses.remove_button,
            form=form,
            dangerous=addresses.is_removing_dangerous,
        )

    def _add(self, request: HttpRequest, merchant: Merchant, addresses: AddressList, form: AddForm) -> bool:
        """Add the address. Return False if the form has errors."""
        chain_type, address = recipient = form.cleaned_data["address"]
        # If the form was submitted twice, the first submission has already added the address.
        if addresses.rows_of(merchant).filter(chain_type=chain_type, address=address).exists():
            messages.info(request, addresses.already.format(address))
            return True
        if not is_code_right(request, form):
            return False
        with transaction.atomic():
            if addresses.add(merchant, recipient, request):
                self.log_change(request, merchant, addresses.log_of_adding.format(address))
        messages.success(request, addresses.added.format(address))
        return True

    def _remove(self, request: HttpRequest, merchant: Merchant, addresses: AddressList, entry: Entry) -> None:
        try:
            with transaction.atomic():
                addresses.remove(merchant, (entry.chain_type, entry.address), request)
                self.log_change(request, merchant, addresses.log_of_removing.format(entry.address))
        except LookupError as error:  # Another user removed the address at the same time.
            messages.info(request, str(error))
            return
        messages.success(request, addresses.removed.format(entry.address))
        if addresses.warning_when_empty and not addresses.rows_of(merchant).exists():
            messages.warning(request, addresses.warning_when_empty)

    def _merchant(self, request: HttpRequest, merchant_id: str, addresses: AddressList) -> Merchant:
        portal.demand(request.user.has_perm(addresses.permission))
        merchant: Merchant | None = self.get_object(request, str(merchant_id))
        if merchant is None:
            raise Http404
        return merchant
