from typing import Any

from django import forms
from django.contrib.admin import site
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import QueryDict

from config.admin import portal
from merchants.models import Merchant, StaffMembership, merchant_id
from merchants.staff.roles import OPERATOR, role_of

ROLES = (
    (OPERATOR, "Operator: everything, users included"),
    (
        StaffMembership.Role.SUPPORT.value,
        "Support: can read every merchant’s data, retry payments and resend webhooks",
    ),
    (
        StaffMembership.Role.MERCHANT.value,
        "Merchant staff: only one merchant’s data, payments and keys",
    ),
)


class _RoleFields(forms.ModelForm[User]):
    role = forms.ChoiceField(choices=ROLES, widget=portal.Radios)
    merchant = forms.ModelChoiceField(
        Merchant.objects.all(), required=False, help_text="For merchant staff: whose data they see."
    )

    def __init__(self, data: QueryDict | None = None, *args: Any, **options: Any) -> None:
        """Treat an invalid merchant ID as no choice; the lookup field would raise an error."""
        if data is not None and merchant_id(data.get("merchant", "")) is None:
            data = data.copy()
            data["merchant"] = ""
        super().__init__(data, *args, **options)
        membership = StaffMembership._meta.get_field("merchant")
        chosen: Any = self.fields["merchant"]
        chosen.widget = AutocompleteSelect(membership, site)
        chosen.widget.choices = chosen.choices

    def clean(self) -> dict[str, Any]:
        """Require a merchant for merchant staff and clear it for other roles."""
        cleaned = super().clean() or {}
        belongs = cleaned.get("role") == StaffMembership.Role.MERCHANT
        if belongs and cleaned.get("merchant") is None and "merchant" not in self.errors:
            self.add_error("merchant", "Choose the merchant that this user works for.")
        if not belongs:
            cleaned["merchant"] = None
        return cleaned


class NewStaffForm(_RoleFields, portal.NewUserForm[User]):
    class Meta:
        model = User
        fields = ("username", "email")


class StaffForm(_RoleFields, portal.UserForm[User]):
    """An existing user: name, status and role. Users can't change their own role."""

    class Meta:
        model = User
        fields = ("username", "password", "first_name", "last_name", "email", "is_active")

    is_self = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        membership = StaffMembership.objects.filter(user=self.instance).first()
        self.initial.setdefault("role", role_of(self.instance))
        self.initial.setdefault("merchant", membership.merchant_id if membership else None)

    def clean(self) -> dict[str, Any]:
        """Reject a change of the user's own role or status, so that an operator always remains."""
        cleaned = super().clean()
        if self.is_self and {"role", "is_active"} & set(self.changed_data):
            raise ValidationError(
                "You can't change your own role or deactivate yourself. Ask another operator."
            )
        return cleaned
