"""The progress of the search for payments whose hash was never submitted."""

from django.db import models
from django.utils import timezone

from chains.models import Chain
from merchants.models import Merchant


class DiscoveryCursor(models.Model):
    """The search on one chain: its due time and its lease, and where the search begins for a new merchant.

    A merchant is new if it has no `MerchantCursor`. It had no watched requests before, so its search begins at
    `next_block` (null if unknown), and may skip blocks mined before `searched_at`.

    After a failure, `merchants_at_once` limits how many merchants share a search (null: no limit). `watches` is how
    many requests the last pass searched for.

    Some searches run for all merchants together. Their positions are in these columns:

    - `quotes_next_block`, `quotes_searched_at`: the search for quote ids.
    - `deposits_next_block`, `deposits_searched_at`: the search for transfers to deposit addresses.
    - `coins_next_block`, `coins_searched_at`: the search for native coin at deposit addresses. Blocks before
      `coins_next_block` are final, and `DepositAddress.swept` includes their sweeps. `coins_read_block` is the last
      block at which balances were read.
    """

    chain = models.OneToOneField(Chain, on_delete=models.CASCADE, primary_key=True, related_name="+")
    next_block = models.BigIntegerField(null=True, blank=True)
    searched_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(default=timezone.now)
    claim_id = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    merchants_at_once = models.PositiveIntegerField(null=True, blank=True)
    watches = models.PositiveIntegerField(default=0, db_default=0)
    quotes_next_block = models.BigIntegerField(null=True, blank=True)
    quotes_searched_at = models.DateTimeField(null=True, blank=True)
    deposits_next_block = models.BigIntegerField(null=True, blank=True)
    deposits_searched_at = models.DateTimeField(null=True, blank=True)
    coins_next_block = models.BigIntegerField(null=True, blank=True)
    coins_searched_at = models.DateTimeField(null=True, blank=True)
    coins_read_block = models.BigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.chain_id} from {self.next_block}"


class MerchantCursor(models.Model):
    """How far a chain was searched for one merchant. The row exists only while the merchant has watched requests.

    - `next_block`: blocks before it are too deep to change, and were searched for every request that was watched
      then.
    - `searched_at`: all blocks mined before it were searched at least once.
    - `turn_at`: when a search was last tried.
    - `is_alone`: this merchant's search failed while others' succeeded, so other merchants don't share its search.

    A merchant may have more watched requests than one search can handle. Then several searches share the work, in
    the order of the requests' ids. The columns below have the state between these searches:

    - `after` is the last id that was searched for.
    - `until_block` is the last block of the range.
    - `pass_head` is the head when the first of these searches began.
    - `pass_began_at` is when the first of these searches began, or null if the range was shortened later.
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
