"""Admin forms for merchants and API keys."""

import uuid
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.conf import settings
from django.forms.models import model_to_dict
from django.http import QueryDict
from django.utils import timezone

from config.admin.actions import digested, out_of_date
from config.admin.cells import in_zone
from config.admin.portal import Checkboxes, LinesField, Radios, Select, TextInput
from config.api.serializers import has_unsafe_characters
from merchants.contrast import check_accent
from merchants.currencies import validate_reporting_currency
from merchants.identifiers import parse_uuid
from merchants.languages import ENGLISH, LANGUAGES, closest_language
from merchants.models import VALIDATE_COLOUR, ApiKey, Merchant, Permission, SpentForm
from merchants.web_addresses import parse_origin, parse_web_address

if TYPE_CHECKING:
    _Form = forms.BaseForm
else:
    _Form = object

_FORM_LIFETIME = timedelta(days=1)
OVERLAPS = {
    "0": ("None: the old key stops now", timedelta()),
    "1h": ("1 hour", timedelta(hours=1)),
    "24h": ("24 hours", timedelta(hours=24)),
    "7d": ("7 days", timedelta(days=7)),
}


class ChoosesMerchant(_Form):
    """Mixin for a form with a lookup field `merchant`. Make it the first base class."""

    def __init__(self, data: QueryDict | None = None, *args: Any, **options: Any) -> None:
        """Drop an invalid merchant ID, because the lookup field would raise an error for it."""
        initial = dict(options.pop("initial", None) or {})
        if parse_uuid(str(initial.get("merchant", ""))) is None:
            initial.pop("merchant", None)
        if data is not None and parse_uuid(data.get("merchant", "")) is None:
            data = data.copy()
            data["merchant"] = ""
        super().__init__(data, *args, **{**options, "initial": initial})


class MerchantForm(forms.ModelForm[Merchant]):
    """A merchant's settings. `set_merchant` uses this form too."""

    embed_origins = LinesField(
        check=parse_origin,
        required=False,
        label="Sites that may embed the checkout",
        help_text="One origin per line, such as https://shop.example.com. If empty, no site can embed it.",
    )

    default_language = forms.ChoiceField(
        choices=list(LANGUAGES.items()),
        required=False,
        widget=Select,
        help_text="The checkout’s language if it has none of the languages that the customer’s browser prefers.",
    )

    reporting_currency = forms.CharField(
        max_length=3,
        required=False,
        widget=TextInput,
        help_text="The currency in which completed payments are valued, such as USD or EUR. If empty, USD.",
    )

    class Meta:
        model = Merchant
        fields = ()  # The admin's fieldsets list the fields.
        labels = {
            "embed_origins": "Sites that may embed the checkout",
            "references": "Bind transactions with a reference",
            "deposit_addresses": "Show deposit addresses",
            "sponsored_payments": "Allow payments without a network fee",
            "logo_url": "Logo URL",
            "support_url": "Support URL",
        }
        help_texts = {
            "display_name": "What customers see.",
            "sponsored_payments": (
                "If the operator sponsors payments, customers can pay without coin for gas. It costs you nothing."
            ),
            "show_order_number": (
                "Customers see the order number of each request (external_id in the API) on the checkout and the "
                "receipt. Anyone with the link can read it."
            ),
            "accent_colour": "Buttons and progress, such as #1f6feb. If empty, Quittance's default.",
            "background_colour": "The page around the card, such as #f4f4f2.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Earlier releases stored any language tag.
        stored = self.initial.get("default_language") or ENGLISH
        self.initial["default_language"] = closest_language(stored) or ENGLISH

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        _reject_unsafe(self, cleaned)
        return cleaned

    def clean_reporting_currency(self) -> str:
        """Return the currency's code, or USD if none is chosen.

        The merchant's current currency stays valid, even if the rate sources no longer list it.
        """
        code: str = self.cleaned_data["reporting_currency"].upper() or "USD"
        if code != self.initial.get("reporting_currency"):
            validate_reporting_currency(code)
        return code

    def clean_logo_url(self) -> str:
        return _web_address(self.cleaned_data["logo_url"])

    def clean_support_url(self) -> str:
        return _web_address(self.cleaned_data["support_url"])

    def clean_accent_colour(self) -> str:
        """Return a colour with enough contrast to the checkout's white card, or an empty string."""
        colour: str = self.cleaned_data["accent_colour"]
        if colour:
            VALIDATE_COLOUR(colour)
            try:
                check_accent(colour)
            except ValueError as error:
                raise forms.ValidationError(str(error)) from error
        return colour


class MerchantPageForm(MerchantForm):
    """Create a merchant, or change its settings. `seen` is a digest of the settings when the page was opened."""

    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["seen"] = self._digest_of(self.instance)

    def clean(self) -> dict[str, Any]:
        """Reject a page that shows old settings. Otherwise it would restore them.

        The lock makes other changes wait until this change is saved.
        """
        cleaned = super().clean()
        if not self.instance._state.adding:
            current = Merchant.objects.select_for_update(no_key=True).get(pk=self.instance.pk)
            # Compare the instance too: it was read without the lock, and `changed_data` depends on it.
            if not cleaned.get("seen") == self.initial["seen"] == self._digest_of(current):
                raise out_of_date("the merchant")
        return cleaned

    def _digest_of(self, merchant: Merchant) -> str:
        """Return a digest of the settings that this form can change."""
        return digested(model_to_dict(merchant, fields=list(self.fields)))


class OnceForm(forms.Form):
    """A form that takes effect once. A reload or a double click has no effect.

    Store the form's id and the form's effect in the same database transaction.
    """

    form_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid.uuid4)

    def is_first_use(self) -> bool:
        """Record the submission, and return whether it is the form's first submission.

        Call this method in the same database transaction as the form's effect.
        """
        SpentForm.objects.filter(at__lt=timezone.now() - _FORM_LIFETIME).delete()
        _, is_first = SpentForm.objects.get_or_create(form_id=self.cleaned_data["form_id"])
        return is_first


class NewKeyForm(ChoosesMerchant, OnceForm, forms.ModelForm[ApiKey]):
    permissions = forms.MultipleChoiceField(
        choices=Permission.choices,
        widget=Checkboxes,
        required=False,
        help_text=(
            "Every active key can read payment requests and events; this needs no permission. A key with "
            "create_refunds can prepare refunds to any address; you sign them. Select create_refunds only if this "
            "server makes refunds."
        ),
    )

    class Meta:
        model = ApiKey
        fields = ("merchant", "name", "permissions", "expires_at")
        labels = {"expires_at": in_zone("Expires at")}
        help_texts = {
            "name": "The purpose of the key, such as “web shop, production”.",
            "expires_at": "Leave empty for a key that doesn’t expire.",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        _reject_unsafe(self, cleaned)
        return cleaned

    def clean_expires_at(self) -> datetime | None:
        return _time_to_come(self.cleaned_data["expires_at"])


class EditKeyForm(forms.ModelForm[ApiKey]):
    """Change a key's name and expiry. `shown_expiry` is the expiry that the key had when the page was opened."""

    shown_expiry = forms.CharField(widget=forms.HiddenInput, required=False)

    class Meta:
        model = ApiKey
        fields = ("name", "expires_at")
        labels = {"expires_at": in_zone("Expires at")}
        help_texts = {"expires_at": "Leave empty for a key that doesn’t expire."}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.initial["shown_expiry"] = _exact(self.instance.expires_at)

    def clean(self) -> dict[str, Any]:
        """Reject a page that shows an old expiry. Otherwise it would undo the expiry that a rotation has set.

        The lock makes a rotation wait until this change is saved.
        """
        cleaned = super().clean() or {}
        _reject_unsafe(self, cleaned)
        current = ApiKey.objects.select_for_update().get(pk=self.instance.pk)
        if cleaned.get("shown_expiry") != _exact(current.expires_at):
            raise out_of_date("the key’s expiry")
        return cleaned

    def clean_expires_at(self) -> datetime | None:
        """Return the key's expiry, or None. An expiry in the past is valid only if the user didn't change it."""
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        return _time_to_come(expires_at) if "expires_at" in self.changed_data else expires_at


class RotateForm(OnceForm):
    """The form that replaces a key: how long the old key stays valid, and when the new key expires."""

    overlap = forms.ChoiceField(
        choices=[(value, label) for value, (label, _) in OVERLAPS.items()],
        initial="24h",
        widget=Radios,
        label="Keep the old key valid for",
    )
    lifetime = forms.TypedChoiceField(
        choices=[("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year")],
        coerce=int,
        empty_value=None,
        required=False,
        widget=Radios,
        label="The new key expires",
    )

    def overlap_chosen(self) -> timedelta:
        return OVERLAPS[self.cleaned_data["overlap"]][1]

    def expiry_chosen(self) -> datetime | None:
        days = self.cleaned_data["lifetime"]
        return timezone.now() + timedelta(days=days) if days else None


def _exact(expires_at: datetime | None) -> str:
    return expires_at.isoformat() if expires_at else ""


def _time_to_come(expires_at: datetime | None) -> datetime | None:
    if expires_at is not None and expires_at <= timezone.now():
        raise forms.ValidationError("Enter a time in the future. To disable a key now, revoke it.")
    return expires_at


def _web_address(url: str) -> str:
    if not url:
        return url
    try:
        return parse_web_address(url, allow_http=settings.ALLOW_HTTP_URLS)
    except ValueError as error:
        raise forms.ValidationError(str(error)) from error


def _reject_unsafe(form: forms.BaseForm, cleaned: dict[str, Any]) -> None:
    for name, value in list(cleaned.items()):
        if isinstance(value, str) and has_unsafe_characters(value):
            form.add_error(name, "Control and bidirectional-override characters are not accepted.")
