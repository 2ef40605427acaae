"""Figures by the day, kept so that nobody has to count millions of rows to look at them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from chains.models import Token
from merchants.models import Merchant


class DailyFigures(models.Model):
    """One day (UTC) of one merchant or, where `merchant` is null, of all merchants together.

    `requests_paid` and `requests_open` tell of the requests created on that day, as they stand now: they change later.
    `confirmation_times` counts the payments completed on that day by how long it took (see `payments.stats.histogram`).
    Deliveries stand on the day on which they ended; tests are left out.
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
    """What was verified of one token on one day (UTC), at one merchant or, where `merchant` is null, at all.

    `amount` is in base units. It may grow beyond what one amount can be, hence the wide column.
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


class FiguresProgress(models.Model):
    """One row: what the figures take account of. Whoever works on the figures holds its lock.

    Every change until `seen_until` is in them, and every day from `filled_from` on.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    seen_until = models.DateTimeField()
    filled_from = models.DateField()

    class Meta:
        constraints = (models.CheckConstraint(condition=Q(id=1), name="figures_progress_is_one_row"),)

    def __str__(self) -> str:
        return f"{self.filled_from} to {self.seen_until}"
