"""Which transfers of a transaction count, by the rule that its evidence selects."""

from collections.abc import Sequence

from chains.client import Block, Transfer
from payments.evaluation.binding import Bound, Evidence, Unbound, bind
from payments.evaluation.deliveries import find_delivery


def counted(
    arrived: Sequence[Transfer], evidence: Evidence, block: Block, *, is_complete: bool = True
) -> Bound | Unbound:
    """Return the transfers that count, of a direct transfer or of a reported delivery."""
    if evidence.delivery is None:
        return bind(arrived, evidence, block, is_complete=is_complete)
    return find_delivery(arrived, evidence, evidence.delivery, block, is_complete=is_complete)
