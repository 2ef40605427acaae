"""Check the nodes for `manage.py doctor`, with the largest requests that verification makes."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass

from django.db import connection
from django.utils import timezone

from chains.client import ChainClient, ChainError, NodeAbilities, NodeState
from chains.families import clients_of_each_node, head_allowance
from chains.health import STALE_AFTER, TAG_STILL_AFTER, Clients, clients_or_empty
from chains.models import Chain, ChainStatus, Switch
from config.doctor.finding import Finding, failed, fine, warning

# The number of recent blocks for which a node should have state. Without traces, verification reads accounts at the
# block of a payment.
MIN_HISTORY = 128
NODE_SECONDS = 60.0
_THREADS = 8
_PROBLEMS = {
    NodeState.WRONG_CHAIN: "It serves another chain: correct its URL.",
    NodeState.LIMITING: "It limits this deployment's rate: use a larger plan, or add another node.",
}
_UNREACHABLE = (
    "Check its URL and key, and that this machine may connect to it. Add a second node for outages."
)
_NOT_FINALIZING = (
    "Compare with a public explorer. If other nodes mark blocks as {tag}, replace this one; else set a number of "
    "confirmations, or confirmations_fallback, in the catalogue."
)


def check(clients: Clients = clients_of_each_node) -> Iterator[Finding]:
    """Yield a finding for each node of each active chain, and for each active chain without nodes."""
    chains = list(Chain.objects.filter(is_active=True))
    if not chains:
        advice = "Run manage.py load_catalogue chains/catalogues/mainnet.json, with the nodes' variables set."
        yield failed("catalogue", "there is no active chain, so no payment is possible", advice)
    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="doctor")
    try:
        probes = {
            chain.pk: [
                (each, pool.submit(_probe, each, chain.finality_tag))
                for each in clients_or_empty(chain, clients)
            ]
            for chain in chains
        }
        for chain in chains:
            results = []
            for client, future in probes[chain.pk]:
                try:
                    results.append((client, future.result(timeout=NODE_SECONDS)))
                except FutureTimeout:
                    results.append((client, ChainError("no response in time")))
            yield from _of_chain(chain, results)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def check_switches() -> Iterator[Finding]:
    rows = list(Switch.objects.all())
    for row in rows:
        since, reason = f"{row.off_at:%Y-%m-%d %H:%M} UTC", row.reason or "no reason given"
        summary = f"switched off since {since} by {row.actor}: {reason}"
        yield warning(row.name, summary, f"Switch it on again with manage.py switch on {row.name}")
    if not rows:
        yield fine("switches", "everything is on")


@dataclass(frozen=True)
class _Probe:
    """A node's abilities, and the height of the chain's finality tag."""

    abilities: NodeAbilities
    final: int | None


def _probe(client: ChainClient, tag: str | None) -> _Probe | ChainError:
    try:
        head = client.look_up([], with_finality=tag is not None).head
        return _Probe(client.abilities(), head.tagged(tag) if tag else None)
    except ChainError as error:
        return error
    finally:
        connection.close()


def _of_chain(chain: Chain, results: Sequence[tuple[ChainClient, _Probe | ChainError]]) -> Iterator[Finding]:
    if not results:
        names = ", ".join(each.removeprefix("env:") for each in chain.rpc_urls) or "its rpc_urls"
        advice = f"Set {names} to the address of a node, or switch the chain off in the portal (Chains)."
        yield failed(chain.name, "has no node: calls that need it return 503", advice)
    heads = [result.abilities.head for _, result in results if isinstance(result, _Probe)]
    for client, result in results:
        (health,) = client.health()
        subject = f"{chain.name}, {health.host}"
        if isinstance(result, ChainError):
            reason = health.last_error or str(result)
            yield failed(subject, f"no usable response: {reason}", _PROBLEMS.get(health.state, _UNREACHABLE))
        else:
            yield from _of_node(subject, chain, result, behind=max(heads) - result.abilities.head)
    if results:
        yield from _of_tag(chain, heads)


def _of_tag(chain: Chain, heads: Sequence[int]) -> Iterator[Finding]:
    """Yield a finding on the chain's finality tag: its height and when it last moved, from the workers' last check."""
    status, tag = ChainStatus.objects.filter(chain=chain).first(), chain.finality_tag
    if tag is None or status is None or status.finality_since is None:
        return
    if timezone.now() - status.looked_at > STALE_AFTER:
        return
    block = status.finality_block
    where = f"is {block:,}" if block is not None else "is unknown to the nodes"
    behind = f", {max(heads) - block:,} behind the head" if block is not None and heads else ""
    summary = f"its {tag} block {where}{behind}, since {status.finality_since:%Y-%m-%d %H:%M} UTC"
    if status.looked_at - status.finality_since > TAG_STILL_AFTER:
        yield failed(chain.name, f"{summary}: payments wait", _NOT_FINALIZING.format(tag=tag))
    else:
        yield fine(chain.name, summary)


def _of_node(subject: str, chain: Chain, probe: _Probe, *, behind: int) -> Iterator[Finding]:
    node = probe.abilities
    if behind > head_allowance(chain):
        summary = f"{behind} blocks behind the chain's other nodes"
        yield failed(subject, summary, "Wait until it catches up, or replace it. Until then it is not used.")
        return
    if chain.finality_tag is not None and probe.final is None:
        summary = f"it returns no {chain.finality_tag} block, which payments on this chain wait for"
        yield failed(subject, summary, _NOT_FINALIZING.format(tag=chain.finality_tag))
        return
    if node.traces is False and node.history < min(MIN_HISTORY, node.head):
        summary = f"it neither traces nor keeps more than {node.history} blocks of state"
        advice = "Payments from wallets that are contracts wait for the merchant's acceptance. Use a node with debug_"
        yield warning(subject, summary, f"{advice}traceTransaction, or with more state.")
        return
    yield fine(subject, f"block {node.head:,}; {_described(node)}")


def _described(node: NodeAbilities) -> str:
    depth = "from the first block" if node.history >= node.head else f"of {node.history:,} blocks"
    parts = [f"history {depth}"]
    if node.traces is not None:
        parts.append("traces" if node.traces else "no traces")
    if node.batch is not None:
        parts.append(f"at most {node.batch} calls in a batch")
    if node.log_blocks is not None:
        parts.append(f"logs of at most {node.log_blocks} blocks")
    return ", ".join(parts)
