"""Counts of calls to nodes, providers and rate sources, as /metrics returns them."""

from prometheus_client import REGISTRY

from config.observe.outside_calls import Kind, Outcome


def calls_by_outcome(kind: Kind, name: str) -> dict[Outcome, float]:
    """Return the number of calls so far by outcome, without outcomes that did not occur."""
    counts = {}
    for outcome in Outcome:
        labels = {"kind": kind, "name": name, "outcome": outcome}
        if value := REGISTRY.get_sample_value("quittance_outside_calls_total", labels):
            counts[outcome] = value
    return counts


def durations(kind: Kind, name: str) -> float:
    """Return the number of measured durations so far."""
    labels = {"kind": kind, "name": name}
    return REGISTRY.get_sample_value("quittance_outside_call_seconds_count", labels) or 0


def outcomes_between(before: dict[Outcome, float], after: dict[Outcome, float]) -> dict[Outcome, float]:
    return {key: after[key] - before.get(key, 0) for key in after if after[key] != before.get(key, 0)}
