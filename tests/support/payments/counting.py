"""Select the rule that fits the evidence, and return the transfers of a transaction that count."""

from collections.abc import Sequence

from chains.client import Block, Transfer
from payments.evaluation.binding import Bound, Evidence, Unbound, bind
from payments.evaluation.deliveries import find_delivery


def counted(
    arrived: Sequence[Transfer], evidence: Evidence, block: Block, *, is_complete: bool = True
) -> Bound | Unbound:
    """Return the transfers that count: for a direct payment, or for a delivery that a provider reported."""
    if evidence.delivery is None:
        return bind(arrived, evidence, block, is_complete=is_complete)
    return find_delivery(arrived, evidence, evidence.delivery, block, is_complete=is_complete)
