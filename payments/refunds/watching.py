"""Limit the search for a refund's transaction on the chain.

A refund never expires, so the search for it must be limited in another way. It lasts for 30 days after the transaction
was last built, or the refund's page or API object was last read. A transaction that is sent later counts once its hash
is submitted.
"""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from payments.models import Refund

WATCHED_FOR = timedelta(days=30)
# The watch is extended at most once in this time, so that few reads of a page write to the database.
_RENEWED_AFTER = timedelta(hours=1)


def keep_watching(refund: Refund) -> None:
    """Search for this refund's transaction for the next 30 days, if it has an address."""
    if refund.carrier_id is None:
        return
    moment = timezone.now()
    until = moment + WATCHED_FOR
    if refund.watched_until is not None and refund.watched_until >= until - _RENEWED_AFTER:
        return
    row = Refund.objects.filter(pk=refund.pk)
    is_over = Q(watched_until__isnull=True) | Q(watched_until__lt=moment)
    # If the search had ended, it restarts at the current block. Searching the blocks in between would delay the
    # merchant's other payments.
    if not row.filter(is_over).update(watched_from=moment, watched_until=until):
        row.filter(watched_until__lt=until).update(watched_until=until)
