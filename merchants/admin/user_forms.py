from typing import Any

from django import forms
from django.contrib.admin import site
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.safestring import mark_safe

from config.admin import portal
from merchants.admin.forms import ChoosesMerchant
from merchants.admin.team import ROLE_TEXTS
from merchants.models import Merchant, StaffMembership
from merchants.staff.roles import MEMBER_ROLES, role_of


class StaffForm(ChoosesMerchant, portal.UserForm[User]):
    """The form of an existing user. Users can't change their own role."""

    role = forms.ChoiceField(choices=list(ROLE_TEXTS.items()), widget=portal.Radios)
    merchant = forms.ModelChoiceField(
        Merchant.objects.all(), required=False, help_text="The merchant, if this is a merchant’s role."
    )

    leaves_no_owner = forms.BooleanField(
        required=False,
        label="Leave the merchant without an owner",
        help_text="Select this if the account of the only owner was stolen. Deactivate it, then invite another owner.",
        widget=portal.Checkbox,
    )

    class Meta:
        model = User
        fields = ("username", "password", "first_name", "last_name", "email", "is_active")

    is_self = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        membership = StaffMembership.objects.filter(user=self.instance).first()
        self.initial.setdefault("role", role_of(self.instance))
        self.initial.setdefault("merchant", membership.merchant_id if membership else None)
        chosen: Any = self.fields["merchant"]
        chosen.widget = AutocompleteSelect(StaffMembership._meta.get_field("merchant"), site)
        chosen.widget.choices = chosen.choices
        self.fields["password"].help_text = mark_safe(
            'Users choose their passwords. <a class="text-link" href="../password/">Send a link to set a new one</a>'
        )

    def clean(self) -> dict[str, Any]:
        """Require a merchant for roles within a merchant. Reject a change of the user's own role or status."""
        cleaned = super().clean() or {}
        is_member = cleaned.get("role") in MEMBER_ROLES
        if is_member and cleaned.get("merchant") is None and "merchant" not in self.errors:
            self.add_error("merchant", "Choose the merchant that this user works for.")
        if not is_member:
            cleaned["merchant"] = None
        if self.is_self and {"role", "is_active"} & set(self.changed_data):
            raise ValidationError(
                "You can't change your own role or deactivate yourself. Ask another operator."
            )
        return cleaned
