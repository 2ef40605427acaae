"""How `manage.py doctor` shows the service that it belongs to the same deployment: a time signed with SECRET_KEY."""

from django.core import signing

HEADER = "X-Quittance-Doctor"
_SALT = "quittance.doctor"
_SECONDS = 60


def make() -> str:
    """Return a proof that is valid for a minute."""
    return signing.dumps("doctor", salt=_SALT)


def is_valid(text: str) -> bool:
    """Whether `text` is a proof made with this deployment's SECRET_KEY, within the last minute."""
    if not text:
        return False
    try:
        return bool(signing.loads(text, salt=_SALT, max_age=_SECONDS) == "doctor")
    except signing.BadSignature:
        return False
