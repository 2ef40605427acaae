"""The periodic Celery tasks. Running one twice, late or not at all is safe: the database decides what is due.

A task named `wake_…` starts threads of its worker process (`payments.workers`) and ends. The others do their work.
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
    """Wake the verification of due payments; return how many threads were started."""
    return workers.VERIFICATION.nudge()


@shared_task
def wake_swaps() -> int:
    """Wake the polling of routing providers for due swaps."""
    return workers.FOLLOWING.nudge()


@shared_task
def wake_finality() -> int:
    """Wake the finality checks of completed and failed payments."""
    return workers.FINALIZATION.nudge()


@shared_task
def wake_discovery() -> int:
    """Wake the search for payments whose hash was never submitted."""
    return workers.DISCOVERY.nudge()


@shared_task
def wake_proposals() -> int:
    """Wake the search for the executions of proposals that wallets returned instead of hashes."""
    return workers.PROPOSING.nudge()


@shared_task
def wake_looks() -> int:
    """Wake the weekly checks of deposit addresses whose requests ended long ago."""
    return workers.LOOKING.nudge()


@shared_task
def wake_relays() -> int:
    """Wake the sending of signed transfers by the gas accounts."""
    return workers.RELAYING.nudge()


@shared_task
def wake_authorizations() -> int:
    """Wake the checks of signed transfers on their chains."""
    return workers.SETTLING.nudge()


@shared_task
def check_sponsor_balances() -> int:
    """Store the balances of the accounts that pay network fees for customers."""
    return accounts.check_balances()


@shared_task
def wake_values() -> int:
    """Wake the valuation of completed payments in their merchants' reporting currencies."""
    return workers.VALUATION.nudge()


@shared_task
def wake_late_mails() -> int:
    """Wake the sending of e-mails to merchants whose requests were paid after the price had expired."""
    return workers.LATE_MAILING.nudge()


@shared_task
def expire_requests() -> int:
    """Expire the requests whose time is over."""
    return lifecycle.expire_due()


@shared_task
def decide_simulated() -> int:
    """Complete or time out open simulated payments, on staging."""
    return sandbox.decide_due()


@shared_task
def refresh_token_lists() -> None:
    """Start refreshing token lists that will soon expire."""
    token_list.keep_fresh()


@shared_task
def update_statistics() -> int:
    """Update the daily statistics of days that changed."""
    return daily.update_statistics()


@shared_task
def check_notices() -> int:
    """Store the notices about payments that members want."""
    return notices.check_notices()
