"""Make one attempt to deliver an event. No database transaction is open during the request."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from django.utils import timezone

from config.api.log_context import log_context
from config.tracing.recording import describe, traced
from webhooks.dispatch.attempts import Outcome
from webhooks.dispatch.http_client import Answer, Rules, post
from webhooks.dispatch.leasing import Claim
from webhooks.dispatch.signing import sign
from webhooks.endpoints.secrets_at_rest import decrypt
from webhooks.metrics import ATTEMPT_LATENESS, ATTEMPT_SECONDS, ATTEMPTS

logger = logging.getLogger(__name__)

USER_AGENT = "Quittance-Webhooks/1"

Clock = Callable[[], datetime]
Sender = Callable[[Claim, datetime], Answer]


def send(claim: Claim, now: datetime) -> Answer:
    """Send the stored body. The timestamp and the signature are for `now`."""
    return send_signed(
        url=claim.url,
        body=claim.body,
        secrets=claim.secrets,
        event_id=claim.event_id,
        type_=claim.type,
        now=now,
    )


def send_signed(
    *, url: str, body: bytes, secrets: list[bytes], event_id: str, type_: str, now: datetime
) -> Answer:
    """POST `body` with the webhook headers and return the result. `secrets` are encrypted, as they are stored."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "Service-Event-Id": event_id,
        "Service-Event-Type": type_,
        "Service-Signature": sign([decrypt(secret) for secret in secrets], int(now.timestamp()), body),
    }
    return post(url, body, headers, rules=Rules.of_this_deployment())


def attempt(claim: Claim, *, clock: Clock = timezone.now, sender: Sender = send) -> Outcome:
    """Make the attempt and return its result. An unexpected error counts as a failed attempt."""
    began = clock()
    with (
        log_context(event_id=claim.event_id, delivery_id=claim.delivery_id),
        traced("webhook attempt", "client", about=lambda: _subjects(claim.body)),
    ):
        try:
            answer = sender(claim, began)
        except Exception:
            logger.exception("webhook attempt %s of %s failed unexpectedly", claim.attempt, claim.delivery_id)
            answer = Answer(None, "The attempt failed on our side.", "", 0)
        outcome = Outcome(claim, answer, clock())
        _note(outcome, began)
    return outcome


def _note(outcome: Outcome, began: datetime) -> None:
    """Log and count an attempt."""
    claim, answer = outcome.claim, outcome.answer
    logger.info(
        "webhook attempt %d of %s: %s in %d ms",
        claim.attempt, claim.type, answer.status_code or "no response", answer.duration_ms,
    )  # fmt: skip
    error = "" if answer.is_success else str(answer.status_code or "no response")
    details: dict[str, str | int] = {"event_type": claim.type, "attempt": claim.attempt}
    if answer.status_code:
        details["http.response.status_code"] = answer.status_code
    describe(details, error=error)
    ATTEMPTS.labels("delivered" if answer.is_success else "failed").inc()
    ATTEMPT_SECONDS.observe(answer.duration_ms / 1000)
    if claim.due_at is not None:
        ATTEMPT_LATENESS.observe(max((began - claim.due_at).total_seconds(), 0))


def _subjects(body: bytes) -> Sequence[Mapping[str, str]]:
    """Return the ids of the event's payment request and payment, for the trace."""
    with suppress(ValueError, KeyError, TypeError):
        about = json.loads(body)["data"]["object"]
        ids = {"payment_request_id": str(about["payment_request"])}
        if str(about["id"]).startswith("pay_"):  # the object may also be a refund
            ids["payment_id"] = str(about["id"])
        return [] if about.get("test") else [ids]
    return []
