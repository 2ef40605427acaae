"""Query several chains in parallel with one deadline. A slow chain doesn't delay the others."""

import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from chains.client import ChainError
from chains.models import Chain
from config.api.limits.waiting import Busy, waiting_for

logger = logging.getLogger(__name__)

# Each chain has its own threads. So an unreachable chain can't use up the threads of the others.
THREADS_PER_CHAIN = 8

Result = TypeVar("Result")


def query_all(
    chains: Iterable[Chain], query_chain: Callable[[Chain], Result], *, within_seconds: float, about: str
) -> dict[Chain, Result]:
    """Return the results by chain, in the order of `chains`.

    A chain that fails or times out is logged and left out. If too many calls of this process are waiting already, no
    chain is queried, and the result is empty. `about` describes the query in the log, such as "a wallet's balances".
    """
    try:
        with waiting_for(about):
            running = {chain: _threads(chain.pk).submit(query_chain, chain) for chain in chains}
            wait(running.values(), timeout=within_seconds)
    except Busy:
        logger.warning("too many calls wait for %s", about)
        return {}
    results = {chain: _result(chain, future, about) for chain, future in running.items()}
    return {chain: result for chain, result in results.items() if result is not None}


def _result(chain: Chain, future: Future[Result], about: str) -> Result | None:
    if not future.done():
        future.cancel()
        logger.warning("%s timed out reading %s", chain.name, about)
        return None
    try:
        return future.result()
    except ChainError as error:
        logger.warning("%s failed to read %s: %s", chain.name, about, error)
    except Exception:
        logger.exception("%s failed to read %s", chain.name, about)
    return None


_pools: dict[int, ThreadPoolExecutor] = {}
_making = threading.Lock()


def _threads(chain_id: int) -> ThreadPoolExecutor:
    with _making:
        if chain_id not in _pools:
            _pools[chain_id] = ThreadPoolExecutor(THREADS_PER_CHAIN, thread_name_prefix=f"chain-{chain_id}")
        return _pools[chain_id]
