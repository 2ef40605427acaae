"""On which chain a transaction is: its hash looks alike on all chains of a family, and people mistake the network."""

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait

from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError
from chains.models import Chain

logger = logging.getLogger(__name__)

DEADLINE_SECONDS = 3.0


def chain_with(
    transaction_hash: str,
    chosen: Chain,
    others: Iterable[Chain],
    *,
    client: Callable[[Chain], ChainClient] = get_client,
) -> Chain:
    """Return the one of `others` that has the transaction, where `chosen` says that it has not; else `chosen`.

    Each chain is asked once, all at the same time. One that gives no answer within DEADLINE_SECONDS has said nothing:
    if that is `chosen`, it stays the one.
    """
    asked = [
        chosen,
        *(chain for chain in others if chain.chain_type == chosen.chain_type and chain != chosen),
    ]
    if len(asked) == 1:
        return chosen
    threads = ThreadPoolExecutor(len(asked), thread_name_prefix="whereabouts")
    running = {chain: threads.submit(_knows, client, chain, transaction_hash) for chain in asked}
    done, _ = wait(running.values(), timeout=DEADLINE_SECONDS)
    threads.shutdown(wait=False, cancel_futures=True)
    told = {chain: answer.result() for chain, answer in running.items() if answer in done}
    if told.get(chosen) is not False:
        return chosen
    return next((chain for chain, has_it in told.items() if has_it), chosen)


def _knows(client: Callable[[Chain], ChainClient], chain: Chain, transaction_hash: str) -> bool | None:
    """Return whether the chain has the transaction, None where no node gives a usable answer."""
    try:
        snapshot = client(chain).look_up([transaction_hash], with_finality=False)
    except ChainError as error:
        logger.warning("%s could not tell whether it has a transaction: %s", chain.name, error)
        return None
    except Exception:
        logger.exception("%s could not tell whether it has a transaction", chain.name)
        return None
    if transaction_hash in snapshot.contradicted:
        return None
    return snapshot.transactions.get(transaction_hash) is not None
