"""The progress of the search for payments whose hash was never submitted."""

from django.db import models
from django.utils import timezone

from chains.models import Chain
from merchants.models import Merchant


class DiscoveryCursor(models.Model):
    """The search on one chain: its due time, its lease, and the start for merchants without a cursor of their own.

    For a merchant without a `MerchantCursor`, the search may skip the blocks before `next_block` (null: unknown) and
    those mined before `searched_at`, because the merchant had no watched requests then. `merchants_at_once` limits
    how many merchants share one search after a failure (null: no limit). `watches` is the number of requests that the
    last pass searched for.

    `quotes_next_block` and `quotes_searched_at` are the same for the search for quote ids, which has no cursors per
    merchant. `deposits_next_block` and `deposits_searched_at` are those for transfers to deposit addresses.

    `coins_next_block` and `coins_searched_at` are those for native coin at deposit addresses. Blocks before
    `coins_next_block` are final, and their sweeps are included in `DepositAddress.swept`. `coins_read_block` is the
    last block at which the addresses' balances were read.
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
    """The progress of the search on one chain for one merchant. The row exists only while the merchant has watched
    requests.

    All blocks before `next_block` were searched for every request watched at the time, and were deep enough not to
    change. All blocks mined before `searched_at` were searched at least once. `turn_at` is the time of the last
    attempt to search. `is_alone` excludes a merchant from shared searches because its own search fails while others
    succeed.

    If a merchant has more watched requests than one search can handle, several searches cover them in the order of
    their ids. Between these searches, `after` is the last id that was searched for, `until_block` is the end of the
    block range, and `pass_head` is the head when the first of them began, at `pass_began_at` (null if the range was
    shortened since).
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
