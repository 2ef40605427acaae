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
    moment = timezone.now()
    until = moment + WATCHED_FOR
    if refund.watched_until is not None and refund.watched_until >= until - _RENEWED_AFTER:
        return
    row = Refund.objects.filter(pk=refund.pk)
    is_over = Q(watched_until__isnull=True) | Q(watched_until__lt=moment)
    # After a gap, the search begins at this moment: the blocks of the gap would delay the merchant's other payments.
    if not row.filter(is_over).update(watched_from=moment, watched_until=until):
        row.filter(watched_until__lt=until).update(watched_until=until)
