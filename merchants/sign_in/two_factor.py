"""The second factor: codes of an authenticator app (TOTP), and recovery codes for users who lost their phone."""

import base64
import secrets
from urllib.parse import quote, urlencode

import django_otp
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from merchants import encryption
from merchants.models import Authenticator, RecoveryCode
from merchants.models.accounts import STEP_SECONDS, accepted_step, digest_of
from merchants.staff.roles import Account

ISSUER = "Quittance"
RECOVERY_CODES = 10
_KEY_BYTES = 20  # 160 bits, as RFC 4226, section 4, recommends
_CODE_BYTES = 10


class WrongCode(ValueError):
    """The code is not current."""


def is_required() -> bool:
    """Whether users must have a second factor. Only production requires it."""
    return bool(settings.ENVIRONMENT == "production")


def authenticator_of(user: Account) -> Authenticator | None:
    return Authenticator.objects.filter(user=user.pk).first()  # type: ignore[no-any-return]


def is_missing(user: Account) -> bool:
    """Whether this signed-in user must still enter a code or set up a second factor."""
    if getattr(user, "otp_device", None) is not None:
        return False
    return is_required() or authenticator_of(user) is not None


def new_key() -> bytes:
    return secrets.token_bytes(_KEY_BYTES)


def key_text(key: bytes) -> str:
    """Return the secret for manual entry: base 32, in groups of four."""
    text = base64.b32encode(key).decode()
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def enrolment_url(user: Account, key: bytes) -> str:
    """Return the otpauth URI for the QR code: the secret and the account's name."""
    label = quote(f"{ISSUER}:{user.get_username()}")
    secret = base64.b32encode(key).decode()
    query = urlencode({"secret": secret, "issuer": ISSUER, "digits": 6, "period": STEP_SECONDS})
    return f"otpauth://totp/{label}?{query}"


def enrol(user: Account, key: bytes, code: str) -> tuple[Authenticator, list[str]]:
    """Store the secret if `code` is right. Return the authenticator and new recovery codes.

    Raises WrongCode. The user's previous authenticator is replaced.
    """
    step = accepted_step(key, _compact(code))
    if step is None:
        raise WrongCode
    with transaction.atomic():
        remove(user)
        made = Authenticator.objects.create(
            user_id=user.pk,
            name="authenticator app",
            key_encrypted=encryption.encrypt(key),
            last_step=step,
            last_used_at=timezone.now(),
        )
        return made, renew_recovery_codes(user)


def check_code(user: Account, code: str) -> Authenticator | None:
    """Return the user's authenticator if `code` is a current and unused code."""
    authenticator = authenticator_of(user)
    if authenticator is None:
        return None
    return django_otp.verify_token(user, authenticator.persistent_id, _compact(code))  # type: ignore[no-any-return]


def seconds_to_wait(user: Account) -> int:
    """Return how many seconds the user must wait after wrong codes."""
    authenticator = authenticator_of(user)
    if authenticator is None:
        return 0
    allowed, why = authenticator.verify_is_allowed()
    return 0 if allowed else max(1, int((why["locked_until"] - timezone.now()).total_seconds()) + 1)


def spend_recovery_code(user: Account, code: str) -> Authenticator | None:
    """Use up a recovery code. Return the user's authenticator, or None if the code is invalid."""
    unused = RecoveryCode.objects.filter(user=user.pk, used_at=None)
    digest = digest_of(_compact(code).upper())
    return authenticator_of(user) if unused.filter(digest=digest).update(used_at=timezone.now()) else None


def check_either(user: Account, code: str) -> Authenticator | None:
    """Return the user's authenticator if `code` is a valid app or recovery code."""
    is_of_the_app = _compact(code).isdecimal()
    return check_code(user, code) if is_of_the_app else spend_recovery_code(user, code)


def recovery_codes_left(user: Account) -> int:
    return RecoveryCode.objects.filter(user=user.pk, used_at=None).count()


def renew_recovery_codes(user: Account) -> list[str]:
    """Replace all recovery codes. Return the new ones. Show them once, and never store them."""
    codes = [base64.b32encode(secrets.token_bytes(_CODE_BYTES)).decode() for _ in range(RECOVERY_CODES)]
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user.pk).delete()
        RecoveryCode.objects.bulk_create(
            RecoveryCode(user_id=user.pk or 0, digest=digest_of(code)) for code in codes
        )
    return ["-".join(code[start : start + 4] for start in range(0, len(code), 4)) for code in codes]


def remove(user: Account) -> bool:
    """Delete the user's second factor and end their sessions. Return whether there was one."""
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user.pk).delete()
        removed, _ = Authenticator.objects.filter(user=user.pk).delete()
    return bool(removed)


def _compact(code: str) -> str:
    return "".join(code.split()).replace("-", "")
