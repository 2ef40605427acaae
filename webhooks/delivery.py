"""Sending what is due: claim, sign, post, settle (spec 6). No transaction is open while the network is."""

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from threading import Lock

from django.db import connections
from django.utils import timezone

from webhooks.claims import Claim, claim_due, settle
from webhooks.outbound import Answer, Rules, post
from webhooks.secrets_at_rest import decrypt
from webhooks.signing import sign

logger = logging.getLogger(__name__)

USER_AGENT = "Quittance-Webhooks/1"
CONCURRENCY = 16

Clock = Callable[[], datetime]
Sender = Callable[[Claim, datetime], Answer]


def send(claim: Claim, now: datetime) -> Answer:
    """Make the attempt: the frozen body, with a timestamp and a signature of this moment (spec 6.2, 6.3)."""
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
    """POST `body` with the headers of spec 6.2 and return what came of it. `secrets` are as stored."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Service-Event-Id": event_id,
        "Service-Event-Type": type_,
        "Service-Signature": sign([decrypt(secret) for secret in secrets], int(now.timestamp()), body),
    }
    return post(url, body, headers, rules=Rules.of_this_deployment())


def deliver_next(*, clock: Clock = timezone.now, sender: Sender = send) -> bool:
    """Make one due attempt from beginning to end; False when nothing is due."""
    claims = claim_due(limit=1, now=clock())
    for claim in claims:
        deliver(claim, clock=clock, sender=sender)
    return bool(claims)


def deliver(claim: Claim, *, clock: Clock = timezone.now, sender: Sender = send) -> None:
    """Make the claimed attempt and settle it. What nobody foresaw is a failed attempt like any other."""
    started = clock()
    try:
        answer = sender(claim, started)
    except Exception:
        logger.exception("webhook attempt %s of %s broke", claim.attempt, claim.delivery_id)
        answer = Answer(None, "The attempt broke on our side.", "", 0)
    if not settle(claim, answer, ended_at=clock()):
        logger.warning("webhook attempt %s of %s ended after its lease", claim.attempt, claim.delivery_id)


class Courier:
    """A few threads that deliver while anything is due.

    Who nudges it returns at once, so that a slow receiver holds one thread and no worker process. A thread
    that has delivered takes what is due next, and ends when nothing is. Threads that die with their process
    lose no delivery: the claims run out and are taken again.
    """

    def __init__(self, concurrency: int = CONCURRENCY) -> None:
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="courier")
        self._concurrency = concurrency
        self._running: set[Future[None]] = set()
        self._lock = Lock()

    def nudge(self) -> int:
        """Claim what is due for the idle threads, and return how many deliveries were begun."""
        with self._lock:
            claims = claim_due(limit=self._concurrency - len(self._running), now=timezone.now())
            for claim in claims:
                future = self._threads.submit(_deliver_while_due, claim)
                self._running.add(future)
                future.add_done_callback(self._ended)
        return len(claims)

    def finish(self) -> None:
        """Wait until the threads have ended what they are at."""
        self._threads.shutdown(wait=True)

    def _ended(self, future: Future[None]) -> None:
        self._running.discard(future)


def _deliver_while_due(claim: Claim) -> None:
    try:
        deliver(claim)
        while deliver_next():
            pass
    except Exception:
        logger.exception("a courier thread ended early; its claims run out by themselves")
    finally:
        connections.close_all()
