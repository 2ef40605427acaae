"""How far the chains were searched for payments whose hash was never submitted."""

from django.db import models
from django.utils import timezone

from chains.models import Chain
from merchants.models import Merchant


class DiscoveryCursor(models.Model):
    """A chain's search: when it is due, its lease, and where merchants without a cursor of their own begin.

    A merchant without a `MerchantCursor` had nothing to search for in the blocks before `next_block` (null: not known)
    and in those mined before `searched_at`. `merchants_at_once` limits how many merchants share one search
    after a failure (null: no limit). `watches` is how many requests the last pass searched for.
    """

    chain = models.OneToOneField(Chain, on_delete=models.CASCADE, primary_key=True, related_name="+")
    next_block = models.BigIntegerField(null=True, blank=True)
    searched_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(default=timezone.now)
    claim_id = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    merchants_at_once = models.PositiveIntegerField(null=True, blank=True)
    watches = models.PositiveIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.chain_id} from {self.next_block}"


class MerchantCursor(models.Model):
    """How far a chain was searched for one merchant. There is a row only while the merchant has watched requests.

    Every block before `next_block` was searched for all of the merchant's requests that were watched then, when it had
    enough blocks above it not to change any more; every block mined before `searched_at` was searched once. `turn_at`
    is when a search was last tried; `is_alone` keeps a merchant whose search fails while others succeed out of shared
    searches.

    A merchant with more requests than one search takes is searched for in several, by request id. Meanwhile `after` is
    the last id searched for, `until_block` the end of the range, and `pass_head` the head when that began, at
    `pass_began_at` (null if the range was cut short since).
    """

    chain = models.ForeignKey(Chain, on_delete=models.CASCADE, related_name="+")
    merchant = models.ForeignKey(Merchant, on_delete=models.CASCADE, related_name="+")
    next_block = models.BigIntegerField(null=True, blank=True)
    searched_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    turn_at = models.DateTimeField(null=True, blank=True)
    until_block = models.BigIntegerField(null=True, blank=True)
    after = models.UUIDField(null=True, blank=True)
    pass_head = models.BigIntegerField(null=True, blank=True)
    pass_began_at = models.DateTimeField(null=True, blank=True)
    is_alone = models.BooleanField(default=False)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("chain", "merchant"), name="merchant_cursor_is_one_per_chain"),
        )

    def __str__(self) -> str:
        return f"{self.merchant_id} on {self.chain_id} from {self.next_block}"
