"""An authenticator app on a phone, with the functions that tests need."""

import base64
import re
import time

from django.contrib.auth.models import User
from django_otp.oath import TOTP

from merchants.sign_in import two_factor

PASSWORD = "correct horse battery staple"


class Phone:
    def __init__(self, secret: bytes) -> None:
        self._totp = TOTP(secret)

    def code(self, *, steps: int = 0) -> str:
        """Return the current code, or the code `steps` × 30 seconds from now."""
        self._totp.time = time.time() + 30 * steps
        return f"{self._totp.token():06d}"

    @classmethod
    def scan(cls, page: str) -> "Phone":
        """Return a phone with the secret from a set-up page."""
        found = re.search(r'<code id="secret">([A-Z2-7 ]+)</code>', page)
        assert found, "no secret on this page"
        return cls(base64.b32decode(found[1].replace(" ", "")))


def enrolled(user: User) -> tuple[Phone, list[str]]:
    """Give this user a phone; return it with the recovery codes. The previous step's code is already used."""
    secret = two_factor.new_key()
    phone = Phone(secret)
    _, codes = two_factor.enrol(user, secret, phone.code(steps=-1))
    return phone, codes
