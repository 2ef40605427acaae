"""Daily statistics. The statistics are stored, so that the dashboard doesn't count millions of rows."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from chains.models import Chain, Token
from merchants.models import Merchant


class DailyFigures(models.Model):
    """The statistics of one day (UTC) for a merchant. The row without a merchant is for all merchants together.

    `requests_paid` and `requests_open` count requests that were created on that day, by their status now.
    `confirmation_times` is a histogram of the payments that were completed on that day (see
    `payments.stats.histogram`). A webhook delivery counts on the day on which it finished. Test deliveries don't
    count.
    """

    day = models.DateField()
    merchant = models.ForeignKey(Merchant, on_delete=models.CASCADE, null=True, related_name="+")
    requests_created = models.PositiveIntegerField(default=0)
    requests_paid = models.PositiveIntegerField(default=0)
    requests_open = models.PositiveIntegerField(default=0)
    confirmation_times = ArrayField(models.PositiveIntegerField(), default=list)
    deliveries_delivered = models.PositiveIntegerField(default=0)
    deliveries_failed = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("merchant", "day"), name="daily_figures_of_a_merchant"),
            models.UniqueConstraint(fields=("day",), condition=Q(merchant=None), name="daily_figures_of_all"),
        )

    def __str__(self) -> str:
        return f"{self.day} of {self.merchant_id or 'all'}"


class DailyVolume(models.Model):
    """A token's verified volume on one day (UTC) for a merchant. The row without a merchant is for all merchants
    together.

    `amount` is in base units. A sum can exceed the largest single amount, so the column is wide.
    """

    day = models.DateField()
    merchant = models.ForeignKey(Merchant, on_delete=models.CASCADE, null=True, related_name="+")
    token = models.ForeignKey(Token, on_delete=models.CASCADE, related_name="+")
    payments = models.PositiveIntegerField()
    amount = models.DecimalField(max_digits=96, decimal_places=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("merchant", "day", "token"), name="daily_volume_of_a_merchant"),
            models.UniqueConstraint(
                fields=("day", "token"), condition=Q(merchant=None), name="daily_volume_of_all"
            ),
        )

    def __str__(self) -> str:
        return f"{self.day} of {self.merchant_id or 'all'} in {self.token_id}"


class DailyValue(models.Model):
    """The value of a day's (UTC) payments in one currency, for a merchant. The row without a merchant is for all
    merchants together.

    Payments without a value are left out. The column is wide, because an amount of a token can have 78 digits.
    """

    day = models.DateField()
    merchant = models.ForeignKey(Merchant, on_delete=models.CASCADE, null=True, related_name="+")
    currency = models.CharField(max_length=3)
    payments = models.PositiveIntegerField()
    amount = models.DecimalField(max_digits=110, decimal_places=3)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("merchant", "day", "currency"), name="daily_value_of_a_merchant"),
            models.UniqueConstraint(
                fields=("day", "currency"), condition=Q(merchant=None), name="daily_value_of_all"
            ),
        )

    def __str__(self) -> str:
        return f"{self.day} of {self.merchant_id or 'all'} in {self.currency}"


class DailyFees(models.Model):
    """The network fees of a day's (UTC) sponsored payments on one chain, for a merchant.

    The row without a merchant is for all merchants together. A gas account's transaction counts on the day on which
    it ended. `spent` is the sum of all fees. `saved` is the sum for the transactions that paid a request, so
    customers were spared that amount. `spent` and `saved` include the cost of opening token accounts. Amounts are in
    base units of the chain's coin.
    """

    day = models.DateField()
    merchant = models.ForeignKey(Merchant, on_delete=models.CASCADE, null=True, related_name="+")
    chain = models.ForeignKey(Chain, on_delete=models.CASCADE, related_name="+")
    payments = models.PositiveIntegerField()
    saved = models.DecimalField(max_digits=96, decimal_places=0)
    spent = models.DecimalField(max_digits=96, decimal_places=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("merchant", "day", "chain"), name="daily_fees_of_a_merchant"),
            models.UniqueConstraint(
                fields=("day", "chain"), condition=Q(merchant=None), name="daily_fees_of_all"
            ),
        )

    def __str__(self) -> str:
        return f"{self.day} of {self.merchant_id or 'all'} on {self.chain_id}"


class LateValue(models.Model):
    """A past day (UTC) to count again, because one of its payments got a value later, or another amount.

    The row is deleted once the day is counted again.
    """

    day = models.DateField()

    def __str__(self) -> str:
        return str(self.day)


class FiguresProgress(models.Model):
    """A single row: how far the daily statistics were counted. The process that updates the statistics locks this
    row.

    The statistics cover the days since `filled_from`, with every change up to `seen_until`.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    seen_until = models.DateTimeField()
    filled_from = models.DateField()

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(id=1), name="figures_progress_is_one_row"),)

    def __str__(self) -> str:
        return f"{self.filled_from} to {self.seen_until}"


class AcceptedRate(models.Model):
    """The last accepted value of one unit of a coin or currency, in USD."""

    base = models.CharField(max_length=16, primary_key=True)
    value = models.DecimalField(max_digits=60, decimal_places=30)
    accepted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.base}/USD {self.value.normalize():f}"
