"""Until when the chain is searched for a refund's transaction.

A refund never expires, so it can't be searched for as long as it is open. It is watched for a limited time after its
transaction was last built, or its page or its object in the API was last read. A transaction that is sent later counts
when its hash is submitted.
"""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from payments.models import Refund

WATCHED_FOR = timedelta(days=30)
# A page that is read often writes no more often than this.
_RENEWED_AFTER = timedelta(hours=1)


def keep_watching(refund: Refund) -> None:
    """Search for the transaction of this refund for 30 days from now, if it has an address."""
    if refund.carrier_id is None:
        return
    until = timezone.now() + WATCHED_FOR
    is_due = Q(watched_until__isnull=True) | Q(watched_until__lt=until - _RENEWED_AFTER)
    if refund.watched_until is None or refund.watched_until < until - _RENEWED_AFTER:
        Refund.objects.filter(is_due, pk=refund.pk).update(watched_until=until)
