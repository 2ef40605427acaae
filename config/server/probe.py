"""A proof that a request comes from this deployment's `manage.py doctor`: a time signed with SECRET_KEY."""

from django.core import signing

HEADER = "X-Quittance-Doctor"
_SALT = "quittance.doctor"
_SECONDS = 60


def make() -> str:
    """Return a proof that is valid for a minute."""
    return signing.dumps("doctor", salt=_SALT)


def is_valid(text: str) -> bool:
    """Return whether `text` is a proof made with this deployment's SECRET_KEY in the last minute."""
    if not text:
        return False
    try:
        return bool(signing.loads(text, salt=_SALT, max_age=_SECONDS) == "doctor")
    except signing.BadSignature:
        return False
