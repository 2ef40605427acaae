"""A merchant's webhook configuration: its URL, its secret and their rotation (spec 2.6, contract 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from django.db import transaction
from django.utils import timezone

from merchants.models import Merchant
from webhooks.endpoints.secrets_at_rest import encrypt, new_secret
from webhooks.models import Endpoint

ROTATION_OVERLAP = timedelta(hours=24)
MOST_FORMER_SECRETS = 8


class Unchanged(Enum):
    """The value of a setting that the caller left out."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED


@dataclass(frozen=True)
class Change:
    """What a merchant asks of its endpoint; what is left out keeps its value.

    `url` None removes the endpoint; `enabled_events` None means the default types again. The URL is checked
    already.
    """

    url: str | None
    is_enabled: bool | Unchanged = UNCHANGED
    enabled_events: Sequence[str] | Unchanged | None = UNCHANGED
    rotate_secret: bool = False


def configure(merchant: Merchant, change: Change) -> Endpoint | None:
    """Apply `change` and return the endpoint; None where there never was one and none is asked for.

    The secret is made with the first URL. After a rotation the former one goes on signing for 24 hours.
    """
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update().filter(merchant=merchant).first()
        is_new = endpoint is None
        if endpoint is None:
            if change.url is None:
                return None
            ensure_secret(merchant)
            endpoint = Endpoint.objects.select_for_update().get(merchant=merchant)
        if change.url != endpoint.url:
            _begin_afresh(endpoint)
        endpoint.url = change.url
        if not isinstance(change.is_enabled, Unchanged):
            endpoint.is_enabled = change.is_enabled
            endpoint.disabled_reason = None
            _begin_afresh(endpoint)
        if not isinstance(change.enabled_events, Unchanged):
            endpoint.enabled_events = None if change.enabled_events is None else list(change.enabled_events)
        if change.rotate_secret and not is_new:
            _rotate(endpoint)
        endpoint.updated_at = timezone.now()
        endpoint.save()
    return endpoint


def ensure_secret(merchant: Merchant) -> Endpoint:
    """Return the merchant's endpoint row, made with a secret and no URL if there is none."""
    endpoint, _ = Endpoint.objects.get_or_create(
        merchant=merchant, defaults={"secret_encrypted": encrypt(new_secret())}
    )
    return endpoint


def _begin_afresh(endpoint: Endpoint) -> None:
    """Forget what failed: another address, or the merchant's word, is a new beginning."""
    endpoint.failing_since = None
    endpoint.warned_at = None


def _rotate(endpoint: Endpoint) -> None:
    """Make a new secret. Whatever signed until now goes on to the end of its own 24 hours."""
    now = timezone.now()
    endpoint.older_secrets = [
        {"secret": secret.decode("ascii"), "expires_at": expires.isoformat()}
        for secret, expires in _former_secrets(endpoint)
        if now < expires
    ][:MOST_FORMER_SECRETS]
    endpoint.previous_secret_encrypted = endpoint.secret_encrypted
    endpoint.previous_secret_expires_at = timezone.now() + ROTATION_OVERLAP
    endpoint.secret_encrypted = encrypt(new_secret())


def signing_secrets(endpoint: Endpoint, now: datetime) -> list[bytes]:
    """Return the secrets that sign at `now`, encrypted: the current one, and the former for 24 hours."""
    former = [secret for secret, expires in _former_secrets(endpoint) if now < expires]
    return [bytes(endpoint.secret_encrypted), *former]


def _former_secrets(endpoint: Endpoint) -> list[tuple[bytes, datetime]]:
    """Return the former secrets, encrypted, newest first, each with the end of its 24 hours."""
    former = []
    if endpoint.previous_secret_encrypted is not None and endpoint.previous_secret_expires_at is not None:
        former.append((bytes(endpoint.previous_secret_encrypted), endpoint.previous_secret_expires_at))
    for older in endpoint.older_secrets:
        former.append((older["secret"].encode("ascii"), datetime.fromisoformat(older["expires_at"])))
    return former
