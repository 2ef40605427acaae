"""The forms for a new payment request and a new payment link. The API's serializers validate the input."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from django import forms
from django.db.models import QuerySet

from chains.families import label_of
from chains.models import LISTED, Token
from chains.switches import offered_tokens
from config.admin import portal
from config.api.errors import Problem
from config.api.serializers import required_timestamp
from merchants.admin.forms import OnceForm
from merchants.models import Merchant

_EXPIRIES = (
    ("", "After an hour; with a currency, after 15 minutes"),
    ("900", "After 15 minutes"),
    ("86400", "After a day"),
    ("604800", "After a week"),
    ("2592000", "After 30 days"),
)
# Maps an API parameter to its form field if the two names differ.
_FIELDS = {
    "price": "currency",
    "price.amount": "amount",
    "price.currency": "currency",
    "token_id": "token",
    "chain_id": "token",
    "open_amount": "min_amount",
    "open_amount.min": "min_amount",
    "open_amount.max": "max_amount",
}
_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


def _plain_text(help_text: str, **options: Any) -> forms.CharField:
    """Return a one-line text field without autocomplete or autocorrect."""
    widget = portal.TextInput(attrs=_PLAIN)
    return forms.CharField(widget=widget, help_text=help_text, **options)


def _money(help_text: str, **options: Any) -> forms.CharField:
    widget = portal.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})
    return forms.CharField(max_length=100, widget=widget, help_text=help_text, **options)


class MerchantForm(forms.Form):
    """Let users who can see several merchants choose one."""

    merchant = forms.ModelChoiceField(Merchant.objects.none(), widget=portal.Select)

    def __init__(self, merchants: QuerySet[Merchant], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        cast(forms.ModelChoiceField[Merchant], self.fields["merchant"]).queryset = merchants


class _TermsForm(OnceForm):
    """The amount and the recipient. If the merchant has allowed recipients, the form offers them as choices."""

    amount = _money("With a point before decimals, such as 12.50.")
    currency = forms.CharField(
        required=False,
        max_length=3,
        widget=portal.TextInput(attrs={**_PLAIN, "autocapitalize": "characters"}),
        help_text=(
            "Leave it empty if the amount is in the token. With a currency such as EUR, the amount is a price: it is "
            "converted into the token at the current rate."
        ),
    )
    token = forms.ChoiceField(widget=portal.Select, help_text="The token that the customer pays in.")
    recipient_address = _plain_text(
        "The address on the token's chain that receives the money. Check it: payments can't be reversed.",
        max_length=100,
        label="Your wallet",
    )
    description = forms.CharField(
        required=False,
        max_length=500,
        widget=portal.Textarea(attrs={"rows": 3}),
        help_text="Customers see it on the page.",
    )

    own_fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, merchant: Merchant, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        tokens = Token.objects.filter(is_active=True, chain__is_active=True).select_related("chain")
        usual = [token for token in offered_tokens(tokens) if LISTED not in token.tags]
        choice = cast(forms.ChoiceField, self.fields["token"])
        # No token is preselected: a customer could pay a request for the wrong token, and a request can't be changed.
        choice.choices = [("", "Choose a token")] + [
            (str(token.pk), f"{token.symbol} on {token.chain.name}")
            for token in sorted(usual, key=lambda token: (token.chain.name, token.symbol))
        ]
        allowed = list(merchant.allowed_recipients.all())
        if allowed:
            self.fields["recipient_address"] = forms.ChoiceField(
                choices=[(row.address, f"{label_of(row.chain_type)}: {row.address}") for row in allowed],
                label="Your wallet",
                widget=portal.Select,
                help_text="One of your allowed recipients, on the token's chain.",
            )

    def terms(self) -> dict[str, Any]:
        """Return the body of the API call without the amount and without empty fields."""
        data = self.cleaned_data
        token = Token.objects.get(pk=data["token"])
        body = {
            "token_id": token.pk,
            "chain_id": token.chain_id,
            "recipient_address": data["recipient_address"],
            "description": data["description"].replace("\r\n", "\n"),
            **{name: data[name] for name in self.own_fields},
        }
        return {name: value for name, value in body.items() if value not in ("", None)}

    def price(self) -> dict[str, Any]:
        """Return the parameter `price` if a currency was entered, else `amount`."""
        amount, currency = self.cleaned_data["amount"], self.cleaned_data["currency"].upper()
        return {"price": {"amount": amount, "currency": currency}} if currency else {"amount": amount}

    def show(self, problem: Problem) -> None:
        """Show the API's error message at the form field that it concerns."""
        name = _FIELDS.get(str(problem.param), str(problem.param))
        if name == "currency" and not self.cleaned_data.get("currency"):
            name = "amount"
        self.add_error(name if name in self.fields else None, problem.message)


class RequestForm(_TermsForm):
    external_id = _plain_text(
        "Your own reference. Events and exports contain it.",
        required=False,
        max_length=255,
        label="Order number",
    )
    expires_in = forms.TypedChoiceField(
        required=False,
        choices=_EXPIRIES,
        coerce=int,
        empty_value=None,
        label="Expires",
        widget=portal.Select,
    )
    field_order = (
        "amount",
        "currency",
        "token",
        "recipient_address",
        "description",
        "external_id",
        "expires_in",
    )
    own_fields = ("external_id", "expires_in")

    def body(self) -> dict[str, Any]:
        """Return the body of POST /api/payment-requests."""
        return {**self.terms(), **self.price()}


class LinkForm(_TermsForm):
    name = forms.CharField(
        max_length=100,
        widget=portal.TextInput(attrs={"autocomplete": "off"}),
        help_text="For you. Customers don't see it.",
    )
    min_amount = _money(
        "Only if customers enter the amount: the least that they can pay, in the token.",
        required=False,
        label="Smallest amount",
    )
    max_amount = _money(
        "Only if customers enter the amount. Leave it empty to accept any larger amount.",
        required=False,
        label="Largest amount",
    )
    max_payments = forms.IntegerField(
        required=False,
        label="Number of payments",
        widget=portal.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
        help_text="The maximum number of payments on this link. Leave it empty for no limit.",
    )
    expires_at = forms.DateTimeField(
        required=False,
        label="Expires",
        widget=portal.TextInput(attrs={"type": "datetime-local"}),
        help_text="Leave it empty if the link does not expire. In your time zone.",
    )
    field_order = (
        "name", "amount", "currency", "min_amount", "max_amount", "token", "recipient_address", "description",
        "max_payments", "expires_at",
    )  # fmt: skip
    own_fields = ("name", "max_payments")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        amount = self.fields["amount"]
        amount.required = False
        amount.help_text = (
            "With a point before decimals, such as 12.50. Leave it empty if customers enter it."
        )

    def body(self) -> dict[str, Any]:
        """Return the body of POST /api/payment-links."""
        data = self.cleaned_data
        limits = {"min": data["min_amount"], "max": data["max_amount"]}
        given: Mapping[str, str] = {name: value for name, value in limits.items() if value}
        end = data["expires_at"]
        return {
            **self.terms(),
            **(self.price() if data["amount"] or data["currency"] else {}),
            **({"open_amount": given} if given else {}),
            **({"expires_at": required_timestamp(end)} if end else {}),
        }
