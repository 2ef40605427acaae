"""Configure a merchant's webhook endpoint: its URL, its event types, and the rotation of its secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from config.api.errors import ApiError, ErrorCode
from merchants.models import Merchant
from merchants.staff import audit
from webhooks.endpoints.secrets_at_rest import decrypt, encrypt, new_secret
from webhooks.models import Endpoint

ROTATION_OVERLAP = timedelta(hours=24)
MAX_FORMER_SECRETS = 8


class Unchanged(Enum):
    """Marks a setting that the caller omitted."""

    UNCHANGED = "unchanged"


UNCHANGED = Unchanged.UNCHANGED


@dataclass(frozen=True)
class Change:
    """A validated change of an endpoint. Omitted settings keep their values.

    If `url` is None, the URL is removed. `url` can be omitted only if no URL is set. If `enabled_events` is
    None, the default types are restored.
    """

    url: str | Unchanged | None
    is_enabled: bool | Unchanged = UNCHANGED
    enabled_events: Sequence[str] | Unchanged | None = UNCHANGED
    rotate_secret: bool = False


def configure(
    merchant: Merchant, change: Change, *, request: HttpRequest | None = None, actor: str | None = None
) -> Endpoint | None:
    """Apply `change` and return the endpoint.

    If the merchant has no endpoint, create one with a secret. But if the change has neither a URL nor event types for
    the new endpoint, create nothing and return None.

    After a rotation, the previous secret also signs for 24 hours. The security log gets an entry (see `audit.note` for
    `request` and `actor`). Raises ApiError if the endpoint has a URL and the change omits `url`.
    """
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update().filter(merchant=merchant).first()
        is_new = endpoint is None
        if endpoint is None:
            if not isinstance(change.url, str) and not _names_types(change):
                return None
            ensure_secret(merchant)
            endpoint = Endpoint.objects.select_for_update().get(merchant=merchant)
        before = _described(endpoint)
        if isinstance(change.url, Unchanged):
            if endpoint.url is not None:
                message = "url is required while an endpoint is set; send it again, or null to remove it."
                raise ApiError(ErrorCode.PARAMETER_MISSING, message, "url")
        elif change.url != endpoint.url:
            _reset_health(endpoint)
            endpoint.url = change.url
        if not isinstance(change.is_enabled, Unchanged):
            endpoint.is_enabled = change.is_enabled
            endpoint.disabled_reason = None
            _reset_health(endpoint)
        if not isinstance(change.enabled_events, Unchanged):
            endpoint.enabled_events = None if change.enabled_events is None else list(change.enabled_events)
        if change.rotate_secret and not is_new:
            _rotate(endpoint)
            audit.note(request, audit.What.SECRET_ROTATED, actor_name=actor, subject=merchant)
        endpoint.updated_at = timezone.now()
        endpoint.save()
        after = _described(endpoint)
        changes = [f"{name}: {value}" for name, value in after.items() if is_new or value != before[name]]
        if changes:
            audit.note(
                request,
                audit.What.WEBHOOK_CHANGED,
                actor_name=actor,
                subject=merchant,
                detail="; ".join(changes),
            )
    return endpoint


def rotate_secret(merchant: Merchant, *, request: HttpRequest) -> str:
    """Rotate the secret of an existing endpoint, and return the new secret. The old secret also signs for 24 hours."""
    with transaction.atomic():
        endpoint = Endpoint.objects.select_for_update().get(merchant=merchant)
        _rotate(endpoint)
        endpoint.updated_at = timezone.now()
        endpoint.save()
        audit.note(request, audit.What.SECRET_ROTATED, subject=merchant)
    return decrypt(endpoint.secret_encrypted)


def reveal_secret(merchant: Merchant, *, request: HttpRequest) -> str:
    """Return the secret of an existing endpoint, and log that it was shown."""
    secret = decrypt(Endpoint.objects.get(merchant=merchant).secret_encrypted)
    audit.note(request, audit.What.SECRET_REVEALED, subject=merchant)
    return secret


def _described(endpoint: Endpoint) -> dict[str, str]:
    """Return the settings for the security log. The query of the URL is left out, because it may contain a secret."""
    url = endpoint.url.partition("?")[0] if endpoint.url else "none"
    if endpoint.url and "?" in endpoint.url:
        url += "?…"
    return {
        "url": url,
        "enabled": "yes" if endpoint.is_enabled else "no",
        "events": ", ".join(endpoint.event_types),
    }


def _names_types(change: Change) -> bool:
    return not isinstance(change.enabled_events, Unchanged) and change.enabled_events is not None


def ensure_secret(merchant: Merchant) -> Endpoint:
    """Return the merchant's endpoint. If there is none, create it with a secret and without a URL."""
    endpoint, _ = Endpoint.objects.get_or_create(
        merchant=merchant, defaults={"secret_encrypted": encrypt(new_secret())}
    )
    return endpoint


def _reset_health(endpoint: Endpoint) -> None:
    endpoint.failing_since = None
    endpoint.warned_at = None


def _rotate(endpoint: Endpoint) -> None:
    """Replace the secret by a new one. Earlier secrets also sign until they expire."""
    now = timezone.now()
    endpoint.older_secrets = [
        {"secret": secret.decode("ascii"), "expires_at": expires.isoformat()}
        for secret, expires in _former_secrets(endpoint)
        if now < expires
    ][:MAX_FORMER_SECRETS]
    endpoint.previous_secret_encrypted = endpoint.secret_encrypted
    endpoint.previous_secret_expires_at = timezone.now() + ROTATION_OVERLAP
    endpoint.secret_encrypted = encrypt(new_secret())


def signing_secrets(endpoint: Endpoint, now: datetime) -> list[bytes]:
    """Return the encrypted secrets that sign at `now`: the current one, and those replaced in the last 24 hours."""
    former = [secret for secret, expires in _former_secrets(endpoint) if now < expires]
    return [bytes(endpoint.secret_encrypted), *former]


def _former_secrets(endpoint: Endpoint) -> list[tuple[bytes, datetime]]:
    """Return the earlier secrets with their expiries, newest first. The secrets are encrypted."""
    former = []
    if endpoint.previous_secret_encrypted is not None and endpoint.previous_secret_expires_at is not None:
        former.append((bytes(endpoint.previous_secret_encrypted), endpoint.previous_secret_expires_at))
    for older in endpoint.older_secrets:
        former.append((older["secret"].encode("ascii"), datetime.fromisoformat(older["expires_at"])))
    return former
