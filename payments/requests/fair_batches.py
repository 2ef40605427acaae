"""Select batches of due rows fairly: if more rows are due than fit, merchants take turns.

Ordered only by time, a merchant with very many due rows would delay all others
(`test_anothers_request_expires_in_the_next_batch`). This ranks all due rows, which suits lists that stay short;
`due_in_turns` reads an index instead.
"""

from typing import Any

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber


def batch_of(due: QuerySet[Any], most: int, *, merchant: str, first: tuple[str, ...]) -> QuerySet[Any]:
    """Return up to `most` of the `due` rows; if there are more, take equally many from each merchant where possible.

    `merchant` is the lookup path of the merchant, and `first` the columns by which each merchant's rows are ordered.
    `due` must be ordered; that order applies if all rows fit.
    """
    if not due[most : most + 1].exists():
        return due
    turn = Window(RowNumber(), partition_by=F(merchant), order_by=[F(column) for column in first])
    chosen = due.annotate(turn=turn).order_by("turn", *first).values_list("pk", flat=True)[:most]
    return due.filter(pk__in=list(chosen))
