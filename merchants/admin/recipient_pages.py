"""The portal's pages that change a merchant's allowed recipients, each with a fresh second-factor code."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path

from chains.families import AddressError
from config.admin import portal
from merchants.admin.fresh_code import FactorForm, is_code_right, set_up_first
from merchants.models import AllowedRecipient, Merchant
from merchants.recipients import allow_recipients, disallow_recipients, parse_recipient
from merchants.sign_in import two_factor

CHANGE_RECIPIENTS = "merchants.change_allowed_recipients"
_MAX_SHOWN = 100


class AllowForm(FactorForm):
    address = forms.CharField(
        label="Wallet address",
        max_length=100,
        widget=portal.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}
        ),
        help_text="EVM (0x…) or Solana. The entry applies to every chain of its family. On Solana, enter the wallet, "
        "not its token account.",
    )
    field_order = ("address", "code")

    def clean_address(self) -> tuple[str, str]:
        """Return the chain family's key and the canonical address."""
        try:
            return parse_recipient(self.cleaned_data["address"])
        except AddressError as error:
            raise forms.ValidationError(str(error)) from error


class DisallowForm(FactorForm):
    recipient = forms.ModelChoiceField(
        AllowedRecipient.objects.none(), widget=portal.Radios, empty_label=None, label="Allowed recipient"
    )
    field_order = ("recipient", "code")

    def __init__(self, merchant: Merchant, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        rows = AllowedRecipient.objects.filter(merchant=merchant)
        choice = cast(forms.ModelChoiceField[AllowedRecipient], self.fields["recipient"])
        choice.queryset = rows
        choice.error_messages["invalid_choice"] = "This address is no longer on the list."


class RecipientPages(portal.ShowsMore):
    """Mixin for the merchant admin: the allowed recipients and the two pages that change them."""

    @admin.display(description="Wallets")
    def recipient_list(self, merchant: Merchant) -> str:
        rows = merchant.allowed_recipients.all()
        total = rows.count()
        context = {"recipients": rows[:_MAX_SHOWN], "hidden": max(total - _MAX_SHOWN, 0)}
        return render_to_string("admin/merchants/merchant/recipients.html", context)

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<uuid:merchant_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"merchants_merchant_{slug}",
            )
            for name, slug, view in (
                ("allow-recipient", "allow_recipient", self.allow_view),
                ("disallow-recipient", "disallow_recipient", self.disallow_view),
            )
        ]
        return [*own, *super().get_urls()]

    def recipient_fieldset(self, request: HttpRequest, merchant: Merchant) -> tuple[str, dict[str, Any]]:
        """Return the section of the merchant's page, with links for users who may change the list."""
        context = {
            "merchant": merchant,
            "may_change": request.user.has_perm(CHANGE_RECIPIENTS),
            "has_any": merchant.allowed_recipients.exists(),
        }
        about = render_to_string("admin/merchants/merchant/recipient_actions.html", context)
        return "Allowed recipients", {"fields": ("recipient_list",), "description": about}

    def allow_view(self, request: HttpRequest, merchant_id: str) -> HttpResponse:
        merchant = self._merchant(request, merchant_id)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "changing allowed recipients")
        form = AllowForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and self._allow(request, merchant, form):
            return HttpResponseRedirect(portal.change_url(merchant))
        is_first = not merchant.allowed_recipients.exists()
        return portal.confirmation(
            request,
            merchant,
            self,
            title=f"Allow a recipient for {merchant}",
            explanation=_FIRST if is_first else _FURTHER,
            button="Allow this wallet",
            form=form,
        )

    def disallow_view(self, request: HttpRequest, merchant_id: str) -> HttpResponse:
        merchant = self._merchant(request, merchant_id)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, "changing allowed recipients")
        total = merchant.allowed_recipients.count()
        if request.method != "POST" and not total:
            messages.info(request, "There is no allowed recipient to remove.")
            return HttpResponseRedirect(portal.change_url(merchant))
        form = DisallowForm(merchant, request.POST or None)
        if request.method == "POST" and form.is_valid() and is_code_right(request, form):
            self._disallow(request, merchant, form.cleaned_data["recipient"])
            return HttpResponseRedirect(portal.change_url(merchant))
        return portal.confirmation(
            request,
            merchant,
            self,
            title=f"Remove an allowed recipient of {merchant}",
            explanation=f"{_REMOVING} {_LAST if total == 1 else ''}".strip(),
            button="Remove from the list",
            form=form,
            dangerous=True,
        )

    def _allow(self, request: HttpRequest, merchant: Merchant, form: AllowForm) -> bool:
        """Add the wallet to the list; return False if the form must be corrected."""
        chain_type, address = form.cleaned_data["address"]
        # The form was submitted twice: its code is used, and the wallet is on the list.
        if merchant.allowed_recipients.filter(chain_type=chain_type, address=address).exists():
            messages.info(request, f"{address} is already an allowed recipient.")
            return True
        if not is_code_right(request, form):
            return False
        with transaction.atomic():
            allow_recipients(merchant, [(chain_type, address)], request=request)
            self.log_change(request, merchant, f"Allowed recipient: {address}")
        messages.success(request, f"{address} is now an allowed recipient.")
        return True

    def _disallow(self, request: HttpRequest, merchant: Merchant, row: AllowedRecipient) -> None:
        recipient = (row.chain_type, row.address)
        try:
            with transaction.atomic():
                left = disallow_recipients(merchant, [recipient], request=request)
                self.log_change(request, merchant, f"No longer an allowed recipient: {row.address}")
        except LookupError as error:  # Another user removed it at the same time.
            messages.info(request, str(error))
            return
        messages.success(request, f"{row.address} is no longer an allowed recipient.")
        if not left:
            messages.warning(request, "The list is empty: new payment requests can pay any wallet.")

    def _merchant(self, request: HttpRequest, merchant_id: str) -> Merchant:
        portal.demand(request.user.has_perm(CHANGE_RECIPIENTS))
        merchant: Merchant | None = self.get_object(request, str(merchant_id))
        if merchant is None:
            raise Http404
        return merchant


_FIRST = (
    "The list is empty, so payment requests can pay any wallet. Once you add a wallet, the API rejects new payment "
    "requests to any other wallet, on every chain."
)
_FURTHER = "New payment requests can pay this wallet as well."
_REMOVING = "The API rejects new payment requests to this wallet. Existing requests keep their recipient."
_LAST = "This is the last wallet on the list. Without it, new payment requests can pay any wallet."
