"""The allowed recipients on a merchant's page in the portal."""

from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string

from merchants.admin.code_lists import AddForm, AddressList, Recipient
from merchants.models import Merchant
from merchants.recipients import allow_recipients, disallow_recipients

_MAX_SHOWN = 100
_FIRST = (
    "The list is empty, so payment requests can pay any wallet. Once you add a wallet, the API rejects new payment "
    "requests to any other wallet, on every chain."
)
_FURTHER = "New payment requests can pay this wallet as well."
_REMOVING = "The API rejects new payment requests to this wallet. Existing requests keep their recipient."
_LAST = "This is the last wallet on the list. Without it, new payment requests can pay any wallet."


class AllowForm(AddForm):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        address = self.fields["address"]
        address.label = "Wallet address"
        address.help_text = (
            "EVM (0x…) or Solana. The entry applies to every chain of its family. On Solana, enter the wallet, "
            "not its token account."
        )


def shown_recipients(merchant: Merchant) -> str:
    rows = merchant.allowed_recipients.all()
    context = {"recipients": rows[:_MAX_SHOWN], "hidden": max(rows.count() - _MAX_SHOWN, 0)}
    return render_to_string("admin/merchants/merchant/recipients.html", context)


def _add(merchant: Merchant, recipient: Recipient, request: HttpRequest) -> bool:
    allow_recipients(merchant, [recipient], request=request)
    return True


def _remove(merchant: Merchant, recipient: Recipient, request: HttpRequest) -> None:
    disallow_recipients(merchant, [recipient], request=request)


RECIPIENTS = AddressList(
    rows="allowed_recipients",
    permission="merchants.change_allowed_recipients",
    action="changing allowed recipients",
    title="Allowed recipients",
    template="admin/merchants/merchant/recipient_actions.html",
    adding="allow_recipient",
    form=AllowForm,
    add=_add,
    add_title="Allow a recipient for {}",
    add_text=lambda merchant: _FURTHER if merchant.allowed_recipients.exists() else _FIRST,
    add_button="Allow this wallet",
    already="{} is already an allowed recipient.",
    added="{} is now an allowed recipient.",
    log_of_adding="Allowed recipient: {}",
    removing="disallow_recipient",
    remove=_remove,
    entry="recipient",
    label="Allowed recipient",
    remove_title="Remove an allowed recipient of {}",
    remove_text=lambda merchant: (
        f"{_REMOVING} {_LAST}" if merchant.allowed_recipients.count() == 1 else _REMOVING
    ),
    remove_button="Remove from the list",
    is_removing_dangerous=True,
    empty="There is no allowed recipient to remove.",
    gone="This address is no longer on the list.",
    removed="{} is no longer an allowed recipient.",
    log_of_removing="No longer an allowed recipient: {}",
    warning_when_empty="The list is empty: new payment requests can pay any wallet.",
)
