"""The portal's pages that confirm and withdraw contract recipients, each with a fresh second-factor code."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path

from chains.families import AddressError, family_of
from config.admin import portal
from merchants.admin.fresh_code import FactorForm, is_code_right, set_up_first
from merchants.models import ContractRecipient, Merchant
from merchants.recipients import confirm_contract, is_confirmed_contract, parse_recipient, withdraw_contract
from merchants.sign_in import two_factor

CONFIRM_CONTRACTS = "merchants.confirm_contract_recipients"
_ACTION = "confirming a contract recipient"
_DANGER = (
    "A contract that is yours on one chain can be a stranger’s on another, at the same address. If a customer sends to "
    "a deposit address on such a chain by mistake, anyone can sweep the money there to this address, and it is lost to "
    "the stranger."
)
_WITHDRAWING = (
    "Payment requests to this contract get no new deposit addresses. Addresses that were shown before are still "
    "watched, and what arrives there is credited."
)


class ConfirmContractForm(FactorForm):
    address = forms.CharField(
        label="Contract address",
        max_length=100,
        widget=portal.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}
        ),
        help_text="EVM (0x…), such as a Safe that you deployed on every chain with the same owners.",
    )
    is_controlled = forms.BooleanField(
        label="We control this address on every EVM chain",
        widget=portal.Checkbox,
        error_messages={"required": "Tick this only if you control the address on every EVM chain."},
    )
    field_order = ("address", "is_controlled", "code")

    def clean_address(self) -> tuple[str, str]:
        """Return the chain family's key and the canonical address."""
        try:
            chain_type, address = parse_recipient(self.cleaned_data["address"])
        except AddressError as error:
            raise forms.ValidationError(str(error)) from error
        if family_of(chain_type).deposits is None:
            raise forms.ValidationError("Enter an EVM address (0x…): other chains have no deposit addresses.")
        return chain_type, address


class WithdrawContractForm(FactorForm):
    contract = forms.ModelChoiceField(
        ContractRecipient.objects.none(), widget=portal.Radios, empty_label=None, label="Contract recipient"
    )
    field_order = ("contract", "code")

    def __init__(self, merchant: Merchant, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        choice = cast(forms.ModelChoiceField[ContractRecipient], self.fields["contract"])
        choice.queryset = ContractRecipient.objects.filter(merchant=merchant)
        choice.error_messages["invalid_choice"] = "This contract is no longer confirmed."


class ContractPages(portal.ShowsMore):
    """Mixin for the merchant admin: the confirmed contract recipients and the two pages that change them."""

    @admin.display(description="Contracts")
    def contract_list(self, merchant: Merchant) -> str:
        rows = [(row, portal.moment(row.confirmed_at)) for row in merchant.contract_recipients.all()]
        return render_to_string("admin/merchants/merchant/contracts.html", {"contracts": rows})

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<uuid:merchant_id>/{name}/",
                self.admin_site.admin_view(view),
                name=f"merchants_merchant_{slug}",
            )
            for name, slug, view in (
                ("confirm-contract", "confirm_contract", self.confirm_contract_view),
                ("withdraw-contract", "withdraw_contract", self.withdraw_contract_view),
            )
        ]
        return [*own, *super().get_urls()]

    def contract_fieldset(self, request: HttpRequest, merchant: Merchant) -> tuple[str, dict[str, Any]]:
        """Return the section of the merchant's page, with links for users who may change the list."""
        context = {
            "merchant": merchant,
            "may_change": request.user.has_perm(CONFIRM_CONTRACTS),
            "has_any": merchant.contract_recipients.exists(),
        }
        about = render_to_string("admin/merchants/merchant/contract_actions.html", context)
        return "Contract recipients", {"fields": ("contract_list",), "description": about}

    def confirm_contract_view(self, request: HttpRequest, merchant_id: str) -> HttpResponse:
        merchant = self._merchant_of_contracts(request, merchant_id)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, _ACTION)
        form = ConfirmContractForm(request.POST or None, initial={"address": request.GET.get("address", "")})
        if request.method == "POST" and form.is_valid() and self._confirm(request, merchant, form):
            return HttpResponseRedirect(portal.change_url(merchant))
        return portal.confirmation(
            request,
            merchant,
            self,
            title=f"Confirm a contract recipient of {merchant}",
            explanation=_DANGER,
            button="Confirm this contract",
            form=form,
            dangerous=True,
        )

    def withdraw_contract_view(self, request: HttpRequest, merchant_id: str) -> HttpResponse:
        merchant = self._merchant_of_contracts(request, merchant_id)
        if two_factor.authenticator_of(request.user) is None:
            return set_up_first(request, _ACTION)
        if request.method != "POST" and not merchant.contract_recipients.exists():
            messages.info(request, "No contract recipient is confirmed.")
            return HttpResponseRedirect(portal.change_url(merchant))
        form = WithdrawContractForm(merchant, request.POST or None)
        if request.method == "POST" and form.is_valid() and is_code_right(request, form):
            self._withdraw(request, merchant, form.cleaned_data["contract"])
            return HttpResponseRedirect(portal.change_url(merchant))
        return portal.confirmation(
            request,
            merchant,
            self,
            title=f"Withdraw a contract recipient of {merchant}",
            explanation=_WITHDRAWING,
            button="Withdraw the confirmation",
            form=form,
        )

    def _confirm(self, request: HttpRequest, merchant: Merchant, form: ConfirmContractForm) -> bool:
        """Store the confirmation; return False if the form must be corrected."""
        recipient = form.cleaned_data["address"]
        address = recipient[1]
        # The form was submitted twice: its code is used, and the contract is confirmed.
        if is_confirmed_contract(merchant, *recipient):
            messages.info(request, f"{address} is already confirmed.")
            return True
        if not is_code_right(request, form):
            return False
        with transaction.atomic():
            if confirm_contract(merchant, recipient, request=request):
                self.log_change(request, merchant, f"Confirmed contract recipient: {address}")
        messages.success(
            request, f"{address} is confirmed, and its payment requests can get deposit addresses."
        )
        return True

    def _withdraw(self, request: HttpRequest, merchant: Merchant, row: ContractRecipient) -> None:
        try:
            with transaction.atomic():
                withdraw_contract(merchant, (row.chain_type, row.address), request=request)
                self.log_change(request, merchant, f"No longer a confirmed contract recipient: {row.address}")
        except LookupError as error:  # Another user withdrew it at the same time.
            messages.info(request, str(error))
            return
        messages.success(request, f"{row.address} is no longer confirmed.")

    def _merchant_of_contracts(self, request: HttpRequest, merchant_id: str) -> Merchant:
        portal.demand(request.user.has_perm(CONFIRM_CONTRACTS))
        merchant: Merchant | None = self.get_object(request, str(merchant_id))
        if merchant is None:
            raise Http404
        return merchant
