"""Create merchants. Issue, look up, rotate and revoke API keys."""

import hashlib
import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from config.api.serializers import has_unsafe_characters
from config.database.compiled_query import CompiledQuery
from merchants.identifiers import parse_uuid
from merchants.lookup import merchant_by_id
from merchants.models import ApiKey, Merchant, Permission

KEY_PREFIX = "quitt_"
_KEY = re.compile(r"quitt_[0-9a-f]{40}")
_STUB_LENGTH = 12
_LONGEST_NAME = 100
_LAST_USED_RESOLUTION = timedelta(minutes=1)
_by_digest: CompiledQuery[ApiKey] = CompiledQuery(
    lambda digest: ApiKey.objects.order_by().filter(digest=digest), digest=b"digest"
)


class MerchantNotFound(LookupError):
    """No merchant has this ID or name, or several have this name."""


def create_merchant(*, name: str) -> Merchant:
    """Create a merchant. Raises ValueError for a name that is empty, too long or contains control characters."""
    if not name.strip():
        raise ValueError("the name is empty")
    return Merchant.objects.create(name=_checked_name(name))


def find_merchant(text: str) -> Merchant:
    """Return the merchant with this ID, or the only merchant with exactly this name. Raises MerchantNotFound."""
    id_ = parse_uuid(text)
    merchants = list(Merchant.objects.filter(id=id_) if id_ else Merchant.objects.filter(name=text)[:2])
    if len(merchants) != 1:
        problem = (
            "more than one merchant has the name" if merchants else "there is no merchant with the id or name"
        )
        raise MerchantNotFound(f"{problem} {text!r}")
    return merchants[0]


def issue_key(
    *, merchant: Merchant, permissions: Sequence[str], name: str = "", expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Create a key. Return its database row and the key's plain text.

    The caller shows the text once and never stores it.

    Raises ValueError for an unknown permission or an invalid name.
    """
    unknown = set(permissions) - set(Permission.values)
    if unknown:
        raise ValueError(f"unknown permission: {', '.join(sorted(unknown))}")
    key = KEY_PREFIX + secrets.token_hex(20)
    row = ApiKey.objects.create(
        merchant=merchant,
        name=_checked_name(name),
        prefix=key[:_STUB_LENGTH],
        digest=_digest(key),
        permissions=sorted(set(permissions)),
        expires_at=expires_at,
    )
    return row, key


def rotate_key(
    api_key: ApiKey, *, overlap: timedelta, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """Replace a key by a new one with the same permissions.

    The old key expires after `overlap`, unless its current expiry is earlier. Without an overlap, the old key is
    revoked: then a later change of its expiry can't make it valid again. `expires_at` is the expiry of the new key.
    """
    ends = timezone.now() + overlap
    if not overlap:
        revoke_key(api_key)
    elif api_key.expires_at is None or api_key.expires_at > ends:
        ApiKey.objects.filter(pk=api_key.pk).update(expires_at=ends)
    return issue_key(
        merchant=api_key.merchant,
        permissions=api_key.permissions,
        name=api_key.name,
        expires_at=expires_at,
    )


def revoke_key(api_key: ApiKey) -> None:
    """Revoke the key immediately. Idempotent."""
    ApiKey.objects.filter(pk=api_key.pk, revoked_at=None).update(revoked_at=timezone.now())


def authenticate_key(key: str) -> ApiKey:
    """Return the active key's row with its merchant. Raises ApiError (401) for any other key."""
    if not _KEY.fullmatch(key):
        message = "The API key is malformed: a key is quitt_ and 40 hexadecimal digits."
        raise ApiError(ErrorCode.API_KEY_MISSING, message)
    # The row is read for each call, so a revoked key stops working at once.
    row = _by_digest.first(digest=_digest(key))
    if row is None:
        raise ApiError(ErrorCode.API_KEY_INVALID, "There is no such API key.")
    row.merchant = merchant_by_id(row.merchant_id)
    if row.revoked_at is not None:
        raise ApiError(ErrorCode.API_KEY_REVOKED, "This API key was revoked.")
    if not row.is_active:
        raise ApiError(ErrorCode.API_KEY_EXPIRED, "This API key has expired.")
    _note_use(row)
    return row


def _checked_name(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"the name has {len(name)} characters; the maximum is {_LONGEST_NAME}")
    if has_unsafe_characters(name):
        raise ValueError("the name contains control or bidirectional-override characters")
    return name


def _note_use(row: ApiKey) -> None:
    now = timezone.now()
    if row.last_used_at is None or now - row.last_used_at >= _LAST_USED_RESOLUTION:
        ApiKey.objects.filter(pk=row.pk).update(last_used_at=now)


def _digest(key: str) -> bytes:
    """A fast hash is safe here: a key has 160 random bits, so it can't be guessed (ASVS 6.5.2)."""
    return hashlib.sha256(key.encode("ascii")).digest()
