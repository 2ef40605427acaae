from typing import Any, ClassVar

from django import forms
from django.contrib.admin import site
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.safestring import mark_safe

from config.admin import portal
from merchants.admin.forms import ChoosesMerchant
from merchants.admin.fresh_code import FactorForm, is_code_right
from merchants.admin.team import ROLE_TEXTS
from merchants.models import Merchant, StaffMembership
from merchants.sign_in import two_factor
from merchants.staff.roles import MEMBER_ROLES, role_of


class NoSecondFactor(Exception):
    """The change requires a code, but the operator has no second factor."""


class StaffForm(ChoosesMerchant, FactorForm, portal.UserForm[User]):
    """The form of an existing user. Users can't change their own role.

    A change of the role, the merchant, the e-mail address or the status requires a new second-factor code. The
    e-mail address counts because the link for a new password is sent there.
    """

    _REQUIRE_CODE: ClassVar[set[str]] = {"role", "merchant", "email", "is_active"}

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
    request: HttpRequest

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        membership = StaffMembership.objects.filter(user=self.instance).first()
        code = self.fields["code"]
        code.required = False
        code.help_text = (
            "Required to change the role, the merchant, the email or whether the user is active. Leave it empty for "
            "other changes."
        )
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

    @cached_property
    def changed_data(self) -> list[str]:
        """Return the names of the changed fields. The code belongs to no user, so it isn't a change."""
        return [name for name in super().changed_data if name != "code"]

    def _post_clean(self) -> None:
        """Check the code last. Then a form with another error doesn't use it up.

        Raises NoSecondFactor.
        """
        super()._post_clean()  # type: ignore[misc]  # the stubs lack this hook
        if self.errors or not self._REQUIRE_CODE & set(self.changed_data):
            return
        if two_factor.authenticator_of(self.request.user) is None:
            raise NoSecondFactor
        if self.cleaned_data["code"]:
            is_code_right(self.request, self)
        else:
            self.add_error("code", "Enter a code to confirm this change.")
