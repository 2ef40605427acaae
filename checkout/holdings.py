"""What a wallet holds, asked of several chains at once: a chain that is dead or slow holds none of the others up."""

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from chains.clients import get_client
from chains.clients.base import ChainClient, ChainError
from chains.models import Chain
from config.api.errors import ErrorCode

logger = logging.getLogger(__name__)

DEADLINE_SECONDS = 5.0
# Each chain has threads of its own, so that calls that wait for a dead one can't keep another's from being asked.
THREADS_PER_CHAIN = 8

Client = Callable[[Chain], ChainClient]


@dataclass(frozen=True)
class Holdings:
    """Balances in base units by chain id and token address (empty for the native coin); `unavailable` says why not."""

    balances: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    unavailable: Mapping[int, ErrorCode] = field(default_factory=dict)


def look_at(owner: str, tokens: Mapping[Chain, list[str]], *, client: Client = get_client) -> Holdings:
    """Return what `owner` holds of these tokens on each chain; what comes after DEADLINE_SECONDS is unavailable."""

    def ask(chain: Chain) -> Mapping[str, int]:
        return client(chain).balances(owner, tokens[chain])

    running = {chain: _threads(chain.pk).submit(ask, chain) for chain in tokens}
    wait(running.values(), timeout=DEADLINE_SECONDS)
    balances: dict[int, Mapping[str, int]] = {}
    unavailable: dict[int, ErrorCode] = {}
    for chain, answer in running.items():
        found = _result(chain, answer)
        if found is None:
            unavailable[chain.pk] = ErrorCode.NODE_UNAVAILABLE
        else:
            balances[chain.pk] = found
    return Holdings(balances, unavailable)


def _result(chain: Chain, answer: Future[Mapping[str, int]]) -> Mapping[str, int] | None:
    if not answer.done():
        answer.cancel()
        logger.warning("%s was too slow to tell a wallet's balances", chain.name)
        return None
    try:
        return answer.result()
    except ChainError as error:
        logger.warning("%s could not tell a wallet's balances: %s", chain.name, error)
    except Exception:
        logger.exception("%s could not tell a wallet's balances", chain.name)
    return None


_pools: dict[int, ThreadPoolExecutor] = {}
_making = threading.Lock()


def _threads(chain_id: int) -> ThreadPoolExecutor:
    with _making:
        if chain_id not in _pools:
            _pools[chain_id] = ThreadPoolExecutor(
                THREADS_PER_CHAIN, thread_name_prefix=f"balances-{chain_id}"
            )
        return _pools[chain_id]
