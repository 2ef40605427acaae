"""Prometheus metrics for chains: head, lag, node states and switches."""

from collections.abc import Iterator

from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric

from chains.client import NodeState
from chains.health import chains_with_status, finality_lag_seconds, lag_seconds, nodes_needed
from chains.models import Switch


def collect() -> Iterator[Metric]:
    """Yield the gauges from the stored status. Queries no node."""
    off = GaugeMetricFamily("quittance_switched_off", "1 for each kill switch that is off.", labels=("name",))
    for switch in Switch.objects.values_list("name", flat=True):
        off.add_metric([switch], 1)
    yield off
    head = GaugeMetricFamily("quittance_chain_head", "The newest block.", labels=("chain",))
    lag = GaugeMetricFamily(
        "quittance_chain_lag_seconds", "How long the newest block has been the newest.", labels=("chain",)
    )
    finality = GaugeMetricFamily(
        "quittance_chain_finality_lag_seconds",
        "How long the chain's finality tag has not moved. Only for chains whose payments wait for a tag.",
        labels=("chain", "tag"),
    )
    age = GaugeMetricFamily(
        "quittance_chain_looked_at_age_seconds",
        "Seconds since the nodes were last checked.",
        labels=("chain",),
    )
    nodes = GaugeMetricFamily("quittance_chain_nodes", "Number of nodes by state.", labels=("chain", "state"))
    needed = GaugeMetricFamily(
        "quittance_chain_nodes_needed", "Number of nodes that must respond.", labels=("chain",)
    )
    for chain, status in chains_with_status():
        if status is None:
            continue
        name = [str(chain.pk)]
        if status.head is not None:
            head.add_metric(name, status.head)
        if (seconds := lag_seconds(status)) is not None:
            lag.add_metric(name, seconds)
        if chain.finality_tag and (seconds := finality_lag_seconds(status)) is not None:
            finality.add_metric([*name, chain.finality_tag], seconds)
        age.add_metric(name, (timezone.now() - status.looked_at).total_seconds())
        needed.add_metric(name, nodes_needed(len(status.nodes)))
        states = [node["state"] for node in status.nodes]
        for state in NodeState:
            if state in states:
                nodes.add_metric([*name, state.value], states.count(state.value))
    yield from (head, lag, finality, age, nodes, needed)
