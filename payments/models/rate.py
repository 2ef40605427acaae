"""Exchange rates that were accepted, for comparison with the next ones."""

from django.db import models


class AcceptedRate(models.Model):
    """The last accepted value of one unit of a coin or currency in USD, and the time of its acceptance."""

    base = models.CharField(max_length=16, primary_key=True)
    value = models.DecimalField(max_digits=60, decimal_places=30)
    accepted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.base}/USD {self.value.normalize():f}"
