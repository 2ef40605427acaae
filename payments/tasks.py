"""The periodic Celery tasks. A task may safely run twice, late or never, since the database decides what is due.

A task `wake_…` starts threads of its worker process (`payments.workers`) and ends. The other tasks do the work
themselves.
"""

from celery import shared_task

from payments import notices, workers
from payments.providers import token_list
from payments.requests import lifecycle
from payments.sandbox import due as sandbox
from payments.sponsoring import accounts
from payments.stats import daily


@shared_task
def wake_verification() -> int:
    """Verify due payments. Returns how many threads were started."""
    return workers.VERIFICATION.nudge()


@shared_task
def wake_swaps() -> int:
    """Poll routing providers about due swaps."""
    return workers.FOLLOWING.nudge()


@shared_task
def wake_finality() -> int:
    """Check completed and failed payments again at finality."""
    return workers.FINALIZATION.nudge()


@shared_task
def wake_discovery() -> int:
    """Search for payments whose hash was never submitted."""
    return workers.DISCOVERY.nudge()


@shared_task
def wake_proposals() -> int:
    """Search for transactions that executed proposals."""
    return workers.PROPOSING.nudge()


@shared_task
def wake_looks() -> int:
    """Check the deposit addresses of requests that ended long ago."""
    return workers.LOOKING.nudge()


@shared_task
def wake_relays() -> int:
    """Send signed transfers from the gas accounts."""
    return workers.RELAYING.nudge()


@shared_task
def wake_authorizations() -> int:
    """Check signed transfers on their chains."""
    return workers.SETTLING.nudge()


@shared_task
def check_sponsor_balances() -> int:
    """Store the balances of the gas accounts."""
    return accounts.check_balances()


@shared_task
def wake_values() -> int:
    """Value completed payments in their merchants' reporting currencies."""
    return workers.VALUATION.nudge()


@shared_task
def wake_late_mails() -> int:
    """Send e-mails about payments that came after the price had expired."""
    return workers.LATE_MAILING.nudge()


@shared_task
def expire_requests() -> int:
    """Expire requests that are past their expiry."""
    return lifecycle.expire_due()


@shared_task
def decide_simulated() -> int:
    """On staging, complete simulated payments or let them time out."""
    return sandbox.decide_due()


@shared_task
def refresh_token_lists() -> None:
    """Refresh token lists before they get old."""
    token_list.keep_fresh()


@shared_task
def update_statistics() -> int:
    """Update the daily statistics of days that changed."""
    return daily.update_statistics()


@shared_task
def check_notices() -> int:
    """Store the notices that members want."""
    return notices.check_notices()
