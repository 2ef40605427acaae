"""Make one webhook attempt at a time in the calling thread, with the dispatcher's own functions."""

from datetime import datetime

from django.utils import timezone

from config.due_work import leases
from webhooks.dispatch.attempts import Outcome, store_results
from webhooks.dispatch.delivery import Clock, Sender, attempt, send
from webhooks.dispatch.http_client import Answer
from webhooks.dispatch.leasing import Claim, claim_due


def deliver_next(*, clock: Clock = timezone.now, sender: Sender = send) -> bool:
    """Make one attempt that is due; return False if none is."""
    claims = claim_due(limit=1, now=clock())
    for claim in claims:
        with leases.kept(claim.lease):
            outcome = attempt(claim, clock=clock, sender=sender)
        store_results([outcome])
    return bool(claims)


def store_result(claim: Claim, answer: Answer, *, ended_at: datetime) -> bool:
    """Store one result; return False if the lease was lost."""
    return store_results([Outcome(claim, answer, ended_at)]) == 1
