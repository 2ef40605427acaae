"""Several nodes in front of one chain, and a client whose clock the test advances."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any

import pytest

from chains.families.evm.client import EvmClient
from chains.rpc import json_rpc
from tests.chain import LocalChain
from tests.fault_proxy import FaultProxy, proxying

ALLOWANCE = 20


@contextmanager
def nodes_before(chain: LocalChain, count: int) -> Iterator[list[FaultProxy]]:
    """Run `count` proxies in front of the chain's node."""
    with ExitStack() as stack:
        yield [stack.enter_context(proxying(chain.url)) for _ in range(count)]


def client_of(nodes: Sequence[FaultProxy], chain_id: int, now: Callable[[], datetime]) -> EvmClient:
    """Return a client without any knowledge of these nodes. Cooldowns use the clock `now`."""
    urls = [node.url for node in nodes]
    return EvmClient(urls, chain_id, head_allowance=ALLOWANCE, clock=lambda: now().timestamp())


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limits for silent nodes, as far as a busy machine's healthy nodes allow."""
    monkeypatch.setattr(json_rpc, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(json_rpc, "READ_SECONDS", 0.5)
    monkeypatch.setattr(json_rpc, "HEAD_READ_SECONDS", 0.5)


def changed(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that sets these fields in a response."""
    return lambda answer: {**answer, **fields}
