"""`Idempotency-Key`: a repeated call takes effect once and gets the same response.

A row claims the key first. The response is stored in the same transaction as the effect, so a crash leaves both or
neither; in the latter case the claim expires.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.db import Error as AnyDatabaseError
from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from config.api.answers import AnswerRenderer
from config.api.errors import ApiError, ErrorCode
from config.api.handler import error_body
from config.database.compiled_query import CompiledInsert, run
from merchants.keys.authentication import merchant_of
from merchants.keys.waiting import wait_for
from merchants.models import Merchant
from merchants.models.idempotency_keys import IdempotencyKey

KEPT_FOR = timedelta(hours=24)
# How long a crashed call holds its key. A call that takes longer loses its claim and is rolled back.
LEASE = timedelta(seconds=30)
PURGE_BATCH = 1000
PURGE_BATCHES = 20
_KEY = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")

Effect = Callable[[], Response]


@dataclass(frozen=True)
class KeptAnswer:
    """The row of a new key with its response, stored by the statement that takes effect."""

    values: list[Any]

    @staticmethod
    def sql(source: str) -> str:
        """Return the INSERT for the CTE that the effect reads from: a row for each of `source`, if the key is new.

        It stores nothing, and doesn't block, while another statement is inserting the same key.
        """
        row = _row()
        return (
            f"INSERT INTO merchants_idempotencykey ({row.columns}) SELECT {row.values} FROM {source}"  # noqa: S608
            " WHERE pg_try_advisory_xact_lock(%s::bigint) ON CONFLICT DO NOTHING RETURNING id"
        )

    @classmethod
    def of(cls, row: IdempotencyKey) -> "KeptAnswer":
        """Return what `sql` needs to insert `row`."""
        return cls([*_row().of(row), _lock_id("insert", row.merchant, row.key)])


@dataclass(frozen=True)
class OneStatement:
    """An effect that is a single statement, whose response is known before.

    `store` executes it, and returns False if nothing changed because the key is not new. It raises ApiError where the
    effect is refused.
    """

    response: Response
    store: Callable[[KeptAnswer | None], bool]

    def __call__(self) -> Response:
        """Take effect without a key, and return the response."""
        self.store(None)
        return self.response


View = TypeVar("View")
Arguments = ParamSpec("Arguments")


def idempotent(
    handler: Callable[Concatenate[View, Request, Arguments], Effect],
) -> Callable[Concatenate[View, Request, Arguments], HttpResponse]:
    """Make a view's handler of an authenticated POST honour `Idempotency-Key`.

    The handler validates the call, makes any network requests, and returns its effect: a function that changes the
    database and returns the response. The effect runs in one transaction, which also stores the response. Responses
    must not contain secrets, since they are stored as they are.
    """

    @wraps(handler)
    def answer(
        view: View, request: Request, /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> HttpResponse:
        return _answer(request, partial(handler, view, request, *args, **kwargs))

    answer.takes_idempotency_key = True  # type: ignore[attr-defined]
    return answer


def idempotent_statement(
    handler: Callable[Concatenate[View, Request, Arguments], Effect],
) -> Callable[Concatenate[View, Request, Arguments], HttpResponse]:
    """Do as `idempotent`, for a handler that has no effect before the one it returns and may return `OneStatement`.

    Such an effect, a new key and the response are stored by one statement. The handler may run twice.
    """

    @wraps(handler)
    def answer(
        view: View, request: Request, /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> HttpResponse:
        prepare = partial(handler, view, request, *args, **kwargs)
        return _answer_at_once(request, prepare) or _answer(request, prepare)

    answer.takes_idempotency_key = True  # type: ignore[attr-defined]
    return answer


def never_replayed(
    handler: Callable[Concatenate[View, Request, Arguments], Response],
) -> Callable[Concatenate[View, Request, Arguments], Response]:
    """Make a view's handler of an authenticated POST accept `Idempotency-Key`, and store and replay nothing.

    For responses that are only right at the time of the call, such as an unsigned transaction: a replayed one could be
    signed after its refund was cancelled and replaced.
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


def _answer_at_once(request: Request, prepare: Callable[[], Effect]) -> HttpResponse | None:
    """Take effect by one statement; None where that is not possible or the key is not new.

    A call with a key that is refused takes the longer way: the key may have a response from when it was accepted.
    """
    key = _key_of(request)
    try:
        effect = prepare()
        if not isinstance(effect, OneStatement):
            return None
        if key is None:
            return effect()
        row = IdempotencyKey(
            merchant=merchant_of(request),
            key=key,
            fingerprint=_fingerprint(request),
            status=effect.response.status_code,
            body=AnswerRenderer().render(effect.response.data),
            expires_at=timezone.now() + KEPT_FOR,
        )
        return effect.response if effect.store(KeptAnswer.of(row)) else None
    except (APIException, ApiError):
        if key is None:
            raise
        return None


@cache
def _row() -> CompiledInsert:
    return CompiledInsert(IdempotencyKey)


def _key_of(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is None or _KEY.fullmatch(key):
        return key
    message = "An Idempotency-Key has 1 to 255 printable ASCII characters and no space at either end."
    raise ApiError(ErrorCode.IDEMPOTENCY_KEY_INVALID, message)


def _fingerprint(request: Request) -> bytes:
    """Return the digest of the path and the parsed body; key order and whitespace don't matter."""
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
    """A call's exclusive claim on a key until its lease ends."""

    row_id: int
    claim_id: uuid.UUID

    def keep(self, status: int, data: Any) -> None:
        """Store the response. Raises ApiError if another call took over the key; the caller must roll back."""
        changed = self._held().update(
            status=status,
            body=AnswerRenderer().render(data),
            claim_id=None,
            lease_until=None,
            expires_at=timezone.now() + KEPT_FOR,
        )
        if changed != 1:
            raise _in_use()

    def release(self) -> None:
        """Release the key for a retry. If the database is unavailable, the lease expires instead."""
        with suppress(AnyDatabaseError):
            self._held().delete()

    def _held(self) -> Any:
        return IdempotencyKey.objects.filter(pk=self.row_id, claim_id=self.claim_id)


def _claim(merchant: Merchant, key: str, fingerprint: bytes) -> _Claim | HttpResponse:
    """Claim the key, or return the stored response; wait for a call that runs, if no other call does.

    Raises ApiError: `idempotency_key_reused` for another path or body, `idempotency_key_in_use` if the call that runs
    doesn't end in time or this one may not wait for it.
    """

    def attempt() -> _Claim | HttpResponse | None:
        return _claim_now(merchant, key, fingerprint)

    claim = attempt()
    if claim is not None:
        return claim
    waited = wait_for(attempt, lock=_lock_id("wait", merchant, key))
    if waited is None:
        raise _in_use()
    return waited


def _claim_now(merchant: Merchant, key: str, fingerprint: bytes) -> _Claim | HttpResponse | None:
    """Claim the key, or return the stored response; None while another call runs."""
    now = timezone.now()
    claim_id = uuid.uuid4()
    mine = IdempotencyKey(
        merchant=merchant,
        key=key,
        fingerprint=fingerprint,
        claim_id=claim_id,
        lease_until=now + LEASE,
        expires_at=now + KEPT_FOR,
    )
    inserted = run(KeptAnswer.sql("(SELECT) AS anything"), KeptAnswer.of(mine).values).fetchall()
    if inserted:
        return _Claim(inserted[0][0], claim_id)
    row = IdempotencyKey.objects.filter(merchant=merchant, key=key).first()
    if row is None:  # another statement is inserting it, or it was released a moment ago
        return None
    if row.is_free(now):
        return _take_over(row, mine)
    if bytes(row.fingerprint) != fingerprint:
        message = "This Idempotency-Key was used for another path or body. Use a new key for a new call."
        raise ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED, message)
    if row.body is None:
        return None
    replayed = HttpResponse(bytes(row.body), status=row.status, content_type="application/json")
    replayed["Idempotent-Replayed"] = "true"
    return replayed


def _take_over(row: IdempotencyKey, mine: IdempotencyKey) -> _Claim | None:
    """Claim a key whose call crashed or whose response has expired. Only one concurrent call succeeds."""
    taken = IdempotencyKey.objects.filter(pk=row.pk, claim_id=row.claim_id, expires_at=row.expires_at).update(
        fingerprint=mine.fingerprint,
        claim_id=mine.claim_id,
        lease_until=mine.lease_until,
        status=None,
        body=None,
        expires_at=mine.expires_at,
    )
    return _Claim(row.pk, mine.claim_id) if taken == 1 and mine.claim_id is not None else None


def _lock_id(purpose: str, merchant: Merchant, key: str) -> int:
    """Return the number of PostgreSQL's advisory lock for this key and purpose."""
    digest = hashlib.sha256(f"{purpose}\n{merchant.pk}\n{key}".encode()).digest()
    return int.from_bytes(digest[:8], signed=True)


def _in_use() -> ApiError:
    message = "A call with this Idempotency-Key is still running. Retry in a second."
    return ApiError(ErrorCode.IDEMPOTENCY_KEY_IN_USE, message, retry_after=1)


def purge_expired(now: datetime | None = None) -> int:
    """Delete expired keys in small batches, up to a limit per run; return how many."""
    now = now or timezone.now()
    purged = 0
    for _ in range(PURGE_BATCHES):
        batch = _purge_batch(now)
        purged += batch
        if batch < PURGE_BATCH:
            break
    return purged


def _purge_batch(now: datetime) -> int:
    with transaction.atomic():
        # A key that another call claims at this moment is kept.
        old = IdempotencyKey.objects.select_for_update(skip_locked=True).filter(expires_at__lte=now)
        ids = list(old.order_by("expires_at").values_list("pk", flat=True)[:PURGE_BATCH])
        return IdempotencyKey.objects.filter(pk__in=ids).delete()[0]
