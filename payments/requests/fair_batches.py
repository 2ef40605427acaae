"""Taking a batch of due rows so that merchants take turns, when more is due than one batch takes.

In the order of time alone, a party with very many rows would keep everyone else's waiting behind its own.
"""

from typing import Any

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber


def batch_of(due: QuerySet[Any], most: int, *, merchant: str, first: tuple[str, ...]) -> QuerySet[Any]:
    """Return up to `most` of the `due` rows: where there are more, the same number for each merchant, if it has them.

    `merchant` is the path to the merchant, and a merchant's own rows go in the order of the columns `first`. `due` has
    an order, which counts where all fit.
    """
    if not due[most : most + 1].exists():
        return due
    turn = Window(RowNumber(), partition_by=F(merchant), order_by=[F(column) for column in first])
    chosen = due.annotate(turn=turn).order_by("turn", *first).values_list("pk", flat=True)[:most]
    return due.filter(pk__in=list(chosen))
