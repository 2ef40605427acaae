"""The confirmed contract recipients on a merchant's page in the portal."""

from typing import Any

from django import forms
from django.http import HttpRequest
from django.template.loader import render_to_string

from chains.families import family_of
from config.admin import portal
from merchants.admin.code_lists import AddForm, AddressList, Recipient
from merchants.models import Merchant
from merchants.recipients import confirm_contract, withdraw_contract

_DANGER = (
    "A contract that is yours on one chain can be a stranger’s on another, at the same address. If a customer sends to "
    "a deposit address on such a chain by mistake, anyone can sweep the money there to this address, and it is lost to "
    "the stranger."
)
_WITHDRAWING = (
    "Payment requests to this contract get no new deposit addresses. Addresses that were shown before are still "
    "watched, and what arrives there is credited."
)


class ConfirmContractForm(AddForm):
    is_controlled = forms.BooleanField(
        label="We control this address on every EVM chain",
        widget=portal.Checkbox,
        error_messages={"required": "Tick this only if you control the address on every EVM chain."},
    )
    field_order = ("address", "is_controlled", "code")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        address = self.fields["address"]
        address.label = "Contract address"
        address.help_text = "EVM (0x…), such as a Safe that you deployed on every chain with the same owners."

    def clean_address(self) -> Recipient:
        chain_type, address = super().clean_address()
        if family_of(chain_type).deposits is None:
            raise forms.ValidationError("Enter an EVM address (0x…): other chains have no deposit addresses.")
        return chain_type, address


def shown_contracts(merchant: Merchant) -> str:
    rows = [(row, portal.moment(row.confirmed_at)) for row in merchant.contract_recipients.all()]
    return render_to_string("admin/merchants/merchant/contracts.html", {"contracts": rows})


def _confirm(merchant: Merchant, recipient: Recipient, request: HttpRequest) -> bool:
    return confirm_contract(merchant, recipient, request=request)


def _withdraw(merchant: Merchant, recipient: Recipient, request: HttpRequest) -> None:
    withdraw_contract(merchant, recipient, request=request)


CONTRACTS = AddressList(
    rows="contract_recipients",
    permission="merchants.confirm_contract_recipients",
    action="confirming a contract recipient",
    title="Contract recipients",
    template="admin/merchants/merchant/contract_actions.html",
    adding="confirm_contract",
    form=ConfirmContractForm,
    add=_confirm,
    add_title="Confirm a contract recipient of {}",
    add_text=lambda _: _DANGER,
    add_button="Confirm this contract",
    is_adding_dangerous=True,
    already="{} is already confirmed.",
    added="{} is confirmed, and its payment requests can get deposit addresses.",
    log_of_adding="Confirmed contract recipient: {}",
    removing="withdraw_contract",
    remove=_withdraw,
    entry="contract",
    label="Contract recipient",
    remove_title="Withdraw a contract recipient of {}",
    remove_text=lambda _: _WITHDRAWING,
    remove_button="Withdraw the confirmation",
    empty="No contract recipient is confirmed.",
    gone="This contract is no longer confirmed.",
    removed="{} is no longer confirmed.",
    log_of_removing="No longer a confirmed contract recipient: {}",
)
