"""Limit how long the chain is searched for a refund's transaction.

A refund never expires, so the search needs a limit of its own. The search ends 30 days after the transaction was last
built, or the refund was last read on its page or by the API. If the transaction is sent later, it counts once its
hash is submitted.
"""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from payments.models import Refund

WATCHED_FOR = timedelta(days=30)
# The search is extended at most once in this time, so that most reads of a page write nothing.
_RENEWED_AFTER = timedelta(hours=1)


def keep_watching(refund: Refund) -> None:
    """Search for this refund's transaction for the next 30 days. Does nothing if the refund has no address."""
    if refund.carrier_id is None:
        return
    moment = timezone.now()
    until = moment + WATCHED_FOR
    if refund.watched_until is not None and refund.watched_until >= until - _RENEWED_AFTER:
        return
    row = Refund.objects.filter(pk=refund.pk)
    is_over = Q(watched_until__isnull=True) | Q(watched_until__lt=moment)
    # A search that has ended starts again at the current block. A search of the blocks in between would delay the
    # merchant's other payments.
    if not row.filter(is_over).update(watched_from=moment, watched_until=until):
        row.filter(watched_until__lt=until).update(watched_until=until)
