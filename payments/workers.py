"""The threads that a worker process has in addition to Celery's tasks.

A Celery task only wakes a queue of due work (`payments.tasks`, `webhooks.tasks`). The queue's own threads do the
work, because they may wait long for nodes, providers, exchanges, mail servers or endpoints. While Redis is down, no
task arrives. A ticker then wakes the queues: the due work is in PostgreSQL.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from celery.signals import worker_process_init, worker_process_shutdown
from django.conf import settings
from django.utils import timezone

from config.due_work.listening import Channel, Listener
from config.due_work.runner import Runner, Ticker, stop_all
from merchants.mail.sending import MAILING
from payments.deposits.late_arrivals import complete_worthy
from payments.deposits.looks import LOOKS, look_again
from payments.discovery.search import chains_to_search, search_chain
from payments.prices.late_payments import LATE_MAILS, mail_merchants
from payments.prices.values import VALUES, value_due
from payments.proposals.search import PROPOSALS, search_due
from payments.sponsoring.relaying import GAS_ACCOUNTS, relay_due
from payments.sponsoring.settling import AUTHORIZATIONS, settle_due
from payments.swaps import deliveries
from payments.swaps.following import SWAPS, follow_provider
from payments.verification.engine import verify_due
from payments.verification.finality import FINALITY, check_finality
from payments.verification.leasing import LOOKUPS
from payments.waking.watcher import HeadWatcher
from webhooks.workers import DELIVERIES, DISPATCHER

# A worker process that stops waits this long for its current batches.
_STOP_SECONDS = 5.0

VERIFICATION: Runner[int] = Runner(
    "verify",
    partial(verify_due, swaps=deliveries),
    lanes=lambda: LOOKUPS.lanes(timezone.now()),
    linger_seconds=2.0,
)
FOLLOWING: Runner[str] = Runner("follow", follow_provider, lanes=lambda: SWAPS.lanes(timezone.now()))
FINALIZATION: Runner[int] = Runner("finality", check_finality, lanes=lambda: FINALITY.lanes(timezone.now()))
DISCOVERY: Runner[int] = Runner("discover", search_chain, lanes=lambda: chains_to_search(timezone.now()))
PROPOSING: Runner[int] = Runner("propose", search_due, lanes=lambda: PROPOSALS.lanes(timezone.now()))
LOOKING: Runner[int] = Runner("look", look_again, lanes=lambda: LOOKS.lanes(timezone.now()))
RELAYING: Runner[int] = Runner("relay", relay_due, lanes=lambda: GAS_ACCOUNTS.lanes(timezone.now()))
SETTLING: Runner[int] = Runner("settle", settle_due, lanes=lambda: AUTHORIZATIONS.lanes(timezone.now()))
VALUATION: Runner[None] = Runner("value", lambda _: value_due(), lanes=lambda: VALUES.lanes(timezone.now()))
LATE_MAILING: Runner[None] = Runner(
    "late-mail",
    lambda _: mail_merchants(settle=complete_worthy),
    lanes=lambda: LATE_MAILS.lanes(timezone.now()),
)
RUNNERS: tuple[Runner[Any], ...] = (
    VERIFICATION, FOLLOWING, FINALIZATION, DISCOVERY, PROPOSING, LOOKING, RELAYING, SETTLING, VALUATION,
    LATE_MAILING, MAILING, DELIVERIES,
)  # fmt: skip

_WATCHER = HeadWatcher()


def _wake_verification(chain_id: str) -> None:
    VERIFICATION.wake(int(chain_id))
    if any(settings.SPONSOR_KEYS.values()):
        RELAYING.wake(int(chain_id))
    _WATCHER.wake()


def _wake_deliveries(_: str = "") -> None:
    DELIVERIES.wake(None)


def _wake_after_gap() -> None:
    _WATCHER.wake()
    _wake_deliveries()


WAKES: dict[Channel, Callable[[str], None]] = {
    Channel.PAYMENTS: _wake_verification,
    Channel.DELIVERIES: _wake_deliveries,
}
_LISTENER = Listener(WAKES, on_gap=_wake_after_gap)
_TICKER = Ticker(RUNNERS)


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _start(**_: object) -> None:
    _WATCHER.start()
    _LISTENER.start()
    _TICKER.start()


@worker_process_shutdown.connect  # type: ignore[untyped-decorator]
def _stop(**_: object) -> None:
    """Let the current batches store their results. Other work is due again when its leases expire."""
    _LISTENER.stop()
    _TICKER.stop()
    _WATCHER.stop()
    stop_all(RUNNERS, _STOP_SECONDS)
    DISPATCHER.finish()
