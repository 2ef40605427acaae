"""`Idempotency-Key`: if a call is repeated with the same key, it takes effect once and returns the same response.

A call first claims the key by inserting a row. One transaction then stores the call's effect and the response. If the
process crashes before that, nothing is stored and the claim expires.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.db import Error as AnyDatabaseError
from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.answers import AnswerRenderer
from config.api.errors import ApiError, ErrorCode
from config.api.handler import error_body
from config.database.compiled_query import run
from merchants.keys.authentication import merchant_of
from merchants.keys.waiting import wait_for
from merchants.models import Merchant
from merchants.models.idempotency_keys import IdempotencyKey

KEPT_FOR = timedelta(hours=24)
# If the process crashes during a call, the call's key is free again after this time. If a call takes longer, it loses
# its claim and is rolled back.
LEASE = timedelta(seconds=30)
PURGE_BATCH = 1000
PURGE_BATCHES = 20
_KEY = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")
_INSERT = """
    INSERT INTO merchants_idempotencykey (merchant_id, key, fingerprint, claim_id, lease_until, expires_at)
    VALUES (%(merchant)s, %(key)s, %(fingerprint)s, %(claim_id)s, %(lease_until)s, %(expires_at)s)
    ON CONFLICT DO NOTHING RETURNING id"""
_KEEP = """
    UPDATE merchants_idempotencykey
    SET status = %s, body = %s, expires_at = %s, claim_id = NULL, lease_until = NULL
    WHERE id = %s AND claim_id = %s"""

Effect = Callable[[], Response]
View = TypeVar("View")
Arguments = ParamSpec("Arguments")


def idempotent(
    handler: Callable[Concatenate[View, Request, Arguments], Effect],
) -> Callable[Concatenate[View, Request, Arguments], HttpResponse]:
    """Make an authenticated POST handler honour `Idempotency-Key`.

    The handler validates the call, and makes network requests if needed. It returns a function that changes the
    database and returns the response. One transaction runs this function and stores the response.

    Responses are stored unchanged, so they must not contain secrets.
    """

    @wraps(handler)
    def answer(
        view: View, request: Request, /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> HttpResponse:
        return _answer(request, partial(handler, view, request, *args, **kwargs))

    answer.takes_idempotency_key = True  # type: ignore[attr-defined]
    return answer


def never_replayed(
    handler: Callable[Concatenate[View, Request, Arguments], Response],
) -> Callable[Concatenate[View, Request, Arguments], Response]:
    """Accept `Idempotency-Key` on an authenticated POST, but never store or replay the response.

    Use it for responses that are only valid at the time of the call, such as an unsigned transaction for a refund. A
    stored transaction could be signed later, when the refund has been cancelled and replaced.
    """

    @wraps(handler)
    def answer(
        view: View, request: Request, /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Response:
        _key_of(request)
        return handler(view, request, *args, **kwargs)

    answer.takes_idempotency_key = True  # type: ignore[attr-defined]
    answer.is_never_replayed = True  # type: ignore[attr-defined]
    return answer


def _answer(request: Request, prepare: Callable[[], Effect]) -> HttpResponse:
    key = _key_of(request)
    if key is not None:
        return _answer_once(merchant_of(request), key, _fingerprint(request), prepare)
    effect = prepare()
    with transaction.atomic():
        return effect()


def _key_of(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is None or _KEY.fullmatch(key):
        return key
    message = "An Idempotency-Key has 1 to 255 printable ASCII characters and no space at either end."
    raise ApiError(ErrorCode.IDEMPOTENCY_KEY_INVALID, message)


def _fingerprint(request: Request) -> bytes:
    """Return a digest of the path and the parsed body. Whitespace and the order of keys don't change the digest."""
    body = json.dumps(request.data, sort_keys=True)
    return hashlib.sha256(f"{request.path}\n{body}".encode()).digest()


def _answer_once(
    merchant: Merchant, key: str, fingerprint: bytes, prepare: Callable[[], Effect]
) -> HttpResponse:
    claim = _claim(merchant, key, fingerprint)
    if isinstance(claim, HttpResponse):
        return claim
    try:
        effect = prepare()
        with transaction.atomic():
            response = effect()
            claim.keep(response.status_code, response.data)
        return response
    except ApiError as error:
        if error.is_final:
            claim.keep(error.status_code, error_body(error))
        else:
            claim.release()
        raise
    except Exception:
        claim.release()
        raise


@dataclass
class _Claim:
    """A call's exclusive right to use an Idempotency-Key until its lease expires."""

    row_id: int
    claim_id: uuid.UUID

    def keep(self, status: int, data: Any) -> None:
        """Store the response. Raises ApiError if another call took over the key: the caller must then roll back."""
        values = [
            status,
            AnswerRenderer().render(data),
            timezone.now() + KEPT_FOR,
            self.row_id,
            self.claim_id,
        ]
        if run(_KEEP, values).rowcount != 1:
            raise _in_use()

    def release(self) -> None:
        """Release the key for a retry. If the database is unavailable, the key is free when the lease expires."""
        with suppress(AnyDatabaseError):
            IdempotencyKey.objects.filter(pk=self.row_id, claim_id=self.claim_id).delete()


def _claim(merchant: Merchant, key: str, fingerprint: bytes) -> _Claim | HttpResponse:
    """Claim the key, or return the stored response. If another call with this key runs, wait for it.

    Raises ApiError. `idempotency_key_reused`: the path or the body differs. `idempotency_key_in_use`: the running call
    takes too long, or other calls are waiting already.
    """

    def attempt() -> _Claim | HttpResponse | None:
        return _claim_now(merchant, key, fingerprint)

    claim = attempt()
    if claim is not None:
        return claim
    waited = wait_for(attempt, lock=_lock_of(merchant, key))
    if waited is None:
        raise _in_use()
    return waited


def _claim_now(merchant: Merchant, key: str, fingerprint: bytes) -> _Claim | HttpResponse | None:
    """Claim the key, or return the stored response. Return None while another call with this key runs."""
    now = timezone.now()
    claim_id = uuid.uuid4()
    mine = {
        "fingerprint": fingerprint,
        "claim_id": claim_id,
        "lease_until": now + LEASE,
        "expires_at": now + KEPT_FOR,
    }
    inserted = run(_INSERT, {"merchant": merchant.pk, "key": key, **mine}).fetchall()
    if inserted:
        return _Claim(inserted[0][0], claim_id)
    row = IdempotencyKey.objects.filter(merchant=merchant, key=key).first()
    if row is None:  # Another call has released the key since the INSERT.
        return None
    if row.is_free(now):
        unchanged = IdempotencyKey.objects.filter(pk=row.pk, claim_id=row.claim_id, expires_at=row.expires_at)
        return _Claim(row.pk, claim_id) if unchanged.update(**mine, status=None, body=None) else None
    if bytes(row.fingerprint) != fingerprint:
        message = "This Idempotency-Key was used for another path or body. Use a new key for a new call."
        raise ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED, message)
    if row.body is None:
        return None
    replayed = HttpResponse(bytes(row.body), status=row.status, content_type="application/json")
    replayed["Idempotent-Replayed"] = "true"
    return replayed


def _lock_of(merchant: Merchant, key: str) -> int:
    """Return the number of the key's advisory lock, which a waiting call holds."""
    digest = hashlib.sha256(f"{merchant.pk}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def _in_use() -> ApiError:
    message = "A call with this Idempotency-Key is still running. Retry in a second."
    return ApiError(ErrorCode.IDEMPOTENCY_KEY_IN_USE, message, retry_after=1)


def purge_expired() -> int:
    """Delete expired keys in small batches, up to a limit per run. Return the number of deleted keys."""
    now = timezone.now()
    purged = 0
    for _ in range(PURGE_BATCHES):
        batch = _purge_batch(now)
        purged += batch
        if batch < PURGE_BATCH:
            break
    return purged


def _purge_batch(now: datetime) -> int:
    with transaction.atomic():
        # Skip a key that another call is claiming.
        old = IdempotencyKey.objects.select_for_update(skip_locked=True).filter(expires_at__lte=now)
        ids = list(old.order_by("expires_at").values_list("pk", flat=True)[:PURGE_BATCH])
        return IdempotencyKey.objects.filter(pk__in=ids).delete()[0]
