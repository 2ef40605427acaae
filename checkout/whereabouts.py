"""On which chain a transaction is: its hash looks alike on all chains of a family, and people mistake the network."""

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError
from chains.models import Chain

logger = logging.getLogger(__name__)

DEADLINE_SECONDS = 3.0

Client = Callable[[Chain], ChainClient]


def chain_with(
    transaction_hash: str, chosen: Chain, others: Iterable[Chain], *, client: Client = get_client
) -> Chain:
    """Return the one of `others` that has the transaction, where `chosen` says that it has not; else `chosen`.

    Each chain of the family is asked once, all at the same time. One that gives no answer within DEADLINE_SECONDS has
    said nothing: if that is `chosen`, it stays the one.
    """
    alike = [chain for chain in others if chain.chain_type == chosen.chain_type and chain != chosen]
    if not alike:
        return chosen
    told = _ask(transaction_hash, [chosen, *alike], client)
    if told.get(chosen) is not False:
        return chosen
    return next((chain for chain, has_it in told.items() if has_it), chosen)


def any_chain_with(
    transaction_hash: str, chains: Sequence[Chain], *, client: Client = get_client
) -> Chain | None:
    """Return the one of `chains`, all of one family, that has the transaction; None where no one says so in time."""
    told = _ask(transaction_hash, chains, client) if chains else {}
    return next((chain for chain, has_it in told.items() if has_it), None)


def _ask(transaction_hash: str, chains: Sequence[Chain], client: Client) -> dict[Chain, bool | None]:
    """Return what the chains said in time."""
    threads = ThreadPoolExecutor(len(chains), thread_name_prefix="whereabouts")
    running = {chain: threads.submit(_knows, client, chain, transaction_hash) for chain in chains}
    done, _ = wait(running.values(), timeout=DEADLINE_SECONDS)
    threads.shutdown(wait=False, cancel_futures=True)
    return {chain: answer.result() for chain, answer in running.items() if answer in done}


def _knows(client: Client, chain: Chain, transaction_hash: str) -> bool | None:
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
