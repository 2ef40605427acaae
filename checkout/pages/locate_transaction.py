"""Find the chain of a transaction.

Customers sometimes choose the wrong network, and a hash doesn't show its network.
"""

from collections.abc import Iterable, Sequence

from chains.client import ChainError
from chains.families import get_client
from chains.models import Chain
from checkout.fan_out import query_all

DEADLINE_SECONDS = 3.0


def chain_with(transaction_hash: str, chosen: Chain, others: Iterable[Chain]) -> Chain:
    """Return `chosen`, or the chain in `others` that has the transaction.

    A chain in `others` is only returned if `chosen` definitely doesn't have the transaction.

    The chains are queried in parallel, with a timeout of DEADLINE_SECONDS.
    """
    same_family = [chain for chain in others if chain.chain_type == chosen.chain_type and chain != chosen]
    if not same_family:
        return chosen
    results = _query(transaction_hash, [chosen, *same_family])
    if results.get(chosen) is not False:
        return chosen
    return next((chain for chain, has_it in results.items() if has_it), chosen)


def any_chain_with(transaction_hash: str, chains: Sequence[Chain]) -> Chain | None:
    """Return the chain whose nodes have the transaction. All of `chains` are of one family."""
    results = _query(transaction_hash, chains)
    return next((chain for chain, has_it in results.items() if has_it), None)


def _query(transaction_hash: str, chains: Sequence[Chain]) -> dict[Chain, bool]:
    """Return, for each chain that responded in time, whether it has the transaction."""

    def has_it(chain: Chain) -> bool:
        snapshot = get_client(chain).look_up([transaction_hash], with_finality=False)
        if transaction_hash in snapshot.contradicted:
            raise ChainError("its nodes contradict each other")
        return snapshot.transactions.get(transaction_hash) is not None

    return query_all(chains, has_it, within_seconds=DEADLINE_SECONDS, about="whether it has a transaction")
