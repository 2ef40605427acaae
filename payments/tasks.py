"""The periodic Celery tasks. Running one twice, late or not at all is safe: the database decides what is due."""

from functools import cache

from celery import shared_task
from celery.signals import worker_process_init, worker_process_shutdown

from payments.background import Background
from payments.discovery import search
from payments.prices import late_payments, values
from payments.providers import token_list
from payments.requests import lifecycle
from payments.sandbox import due as sandbox
from payments.stats import daily
from payments.swaps import deliveries
from payments.swaps.poller import SwapPoller
from payments.verification import finality
from payments.verification.chain_threads import ChainThreads
from payments.waking.worker import PaymentWaking

# How long a worker process that ends waits for the chains that it is verifying.
_FINISH_SECONDS = 5.0


@cache
def _poller() -> SwapPoller:
    """Return this process's poller, created on first use because threads don't survive a fork."""
    return SwapPoller()


@cache
def _chain_threads() -> ChainThreads:
    """Return this process's threads that verify payments."""
    return ChainThreads(deliveries)


@cache
def _waking() -> PaymentWaking:
    """Return what wakes this process's verification."""
    return PaymentWaking(_chain_threads())


@worker_process_init.connect
def _start_waking(**_: object) -> None:
    _waking().start()


@worker_process_shutdown.connect
def _finish_chains(**_: object) -> None:
    """Store what is being verified; what remains is due again when its leases expire."""
    if _waking.cache_info().currsize:
        _waking().stop()
    if _chain_threads.cache_info().currsize:
        _chain_threads().finish(_FINISH_SECONDS)


@shared_task
def verify_due() -> int:
    """Start verifying the due payments."""
    return _chain_threads().nudge()


@shared_task
def follow_swaps() -> int:
    """Start polling the routing providers for due swaps."""
    return _poller().nudge()


@cache
def _background(name: str) -> Background:
    """Return this process's runner of what waits for nodes, created on first use like the poller."""
    return Background(name, {"finality": finality.check_finality, "discovery": search.discover_due}[name])


@shared_task
def check_finality() -> bool:
    """Start checking the finality of completed and failed payments."""
    return _background("finality").nudge()


@shared_task
def discover_due() -> bool:
    """Start searching for payments whose hash was never submitted."""
    return _background("discovery").nudge()


@shared_task
def expire_due() -> int:
    """Expire the requests whose time is over."""
    return lifecycle.expire_due()


@shared_task
def decide_simulated() -> int:
    """Complete or time out open simulated payments, on staging."""
    return sandbox.decide_due()


@shared_task
def keep_token_lists() -> None:
    """Start refreshing token lists that will soon expire."""
    token_list.keep_fresh()


@shared_task
def keep_figures() -> int:
    """Update the daily statistics of days that changed."""
    return daily.update_statistics()


@shared_task
def mail_late_payments() -> int:
    """E-mail merchants whose requests were paid after the price had expired."""
    return late_payments.mail_merchants()


@shared_task
def value_due() -> int:
    """Value completed payments in their merchants' reporting currencies."""
    return values.value_due()
