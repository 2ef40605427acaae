"""Portal users who signed in with a phone's code."""

from django.contrib.auth.models import User
from django.test import Client

from merchants.models import Merchant
from merchants.staff.roles import assign_role
from tests.support.portal.phone import PASSWORD, Phone, enrolled


class Staff:
    """A member of staff, signed in with a phone's code. `role` is a role of merchants.staff.roles."""

    def __init__(self, name: str, role: str, merchant: Merchant | None = None) -> None:
        self.user = User.objects.create_user(name, f"{name}@example.com", PASSWORD)
        assign_role(self.user, role, merchant)
        self.phone: Phone = enrolled(self.user)[0]
        self.client = Client()
        self.client.post("/admin/login/", {"username": name, "password": PASSWORD})
        self.used = self.phone.code()
        self.client.post("/admin/sign-in/code/", {"code": self.used})

    def code(self) -> str:
        """Return an unused code."""
        return self.phone.code(steps=1)

    def fresh_code(self) -> str:
        """Return a code that is accepted once, even immediately after another one."""
        self.user.authenticator_set.update(last_step=-1, throttling_failure_count=0)
        return self.phone.code(steps=1)


def signed_in(role: str, merchant: Merchant | None = None, name: str = "") -> Client:
    """Return the client of a new user with this role, who signed in without a second factor."""
    user = User.objects.create_user(name or f"{role} of {merchant and merchant.pk}")
    assign_role(user, role, merchant)
    client = Client()
    client.force_login(user)
    return client
