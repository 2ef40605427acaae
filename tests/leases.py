"""End leases before their time."""

from datetime import timedelta

from django.db.models.functions import Now

from payments.models import Authorization, DiscoveryCursor, GasAccount, Lookup, Swap
from webhooks.models import Delivery


def end_leases() -> None:
    """End every worker's leases now, as if the workers had died ten seconds ago."""
    for model in (Lookup, Swap, DiscoveryCursor, GasAccount, Authorization, Delivery):
        model.objects.filter(lease_until__isnull=False).update(lease_until=Now() - timedelta(milliseconds=1))
