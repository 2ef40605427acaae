"""The kinds of nodes that deployments have. A rule about money is tested with each kind.

A test uses the fixture `each_kind` (EVM) or `each_ledger_kind` (Solana). The chain in the catalogue then has
these nodes, and the test runs once for each kind.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count

from chains.models import Chain
from tests.fault_proxy import Exchange, Fault, FaultProxy, proxying
from tests.support.nodes.limits import (
    call_by_call,
    drpc,
    free_plan,
    helius,
    small_answers,
    small_batches,
    untraced,
)

MAX_BYTES = 64 * 1024
_numbers = count(1)


@dataclass(frozen=True)
class Kind:
    """The faults of a chain's nodes, in order; None is a node without faults.

    `traces`: the nodes can trace. If there are three, at least two can, so that they can agree on a trace.
    """

    name: str
    faults: tuple[Fault | None, ...]
    traces: bool = True


def without_traces(exchange: Exchange) -> None:
    """Reject every method of the namespaces `debug_` and `trace_`."""
    call_by_call(untraced)(exchange)


def limited(most: int, otherwise: Fault | None = None) -> Fault:
    """Reject batches of more than `most` calls, and responses of more than MAX_BYTES."""
    refuse = drpc if most > 1 else helius
    return small_batches(most, refuse, otherwise=small_answers(MAX_BYTES, otherwise=otherwise))


def free(exchange: Exchange) -> None:
    """Reject all batches, large responses, traces, and log queries over more than ten blocks."""
    limited(1, free_plan(1, 10))(exchange)


# One kind for each path in the code: with traces, without traces and with all limits of a free plan, and
# different nodes that must agree. tests/integration/nodes tests each limit alone.
KINDS = (
    Kind("with traces", (None,)),
    Kind("single calls without traces", (free,), traces=False),
    Kind("agreement of three unlike nodes", (limited(3), free, without_traces), traces=False),
)
# Solana has no traces. Most of its tests have one node without limits.
LEDGER_KINDS = (
    Kind("single calls", (limited(1),)),
    Kind("agreement of three unlike nodes", (limited(1), None, limited(3))),
)


@dataclass(frozen=True)
class Nodes:
    """Nodes of one kind in front of a chain."""

    kind: Kind
    proxies: Sequence[FaultProxy]
    urls: tuple[str, ...]

    @property
    def traces(self) -> bool:
        """Whether the service accepts these nodes' traces."""
        return self.kind.traces


@contextmanager
def nodes_of_kind(kind: Kind, upstream: str) -> Iterator[Nodes]:
    """Run nodes of this kind in front of the node at `upstream`."""
    with ExitStack() as stack:
        proxies = [stack.enter_context(proxying(upstream)) for _ in kind.faults]
        for proxy, fault in zip(proxies, kind.faults, strict=True):
            if fault is not None:
                proxy.break_with(fault)
        # Each URL is new, because clients remember earlier tests' nodes by URL.
        yield Nodes(kind, proxies, tuple(f"{proxy.url}/{next(_numbers)}" for proxy in proxies))


@contextmanager
def chain_with(kind: Kind, chain: Chain, upstream: str) -> Iterator[Nodes]:
    """Run nodes of this kind and store them in the catalogue as the chain's."""
    with nodes_of_kind(kind, upstream) as nodes:
        chain.rpc_urls = list(nodes.urls)
        chain.save(update_fields=["rpc_urls"])
        yield nodes
