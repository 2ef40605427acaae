"""The gauge `quittance_build_info` with the running version. During an upgrade, two versions run."""

import platform
from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

VERSION = "0.2.0"
"""The version in `pyproject.toml`, which the image does not contain."""


class _BuildInfo(Collector):
    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily(
            "quittance_build_info", "1, with the version in a label.", labels=("version", "python")
        )
        info.add_metric((VERSION, platform.python_version()), 1)
        yield info


def build_registry() -> CollectorRegistry:
    """Return a registry with only this gauge.

    This gauge is computed for each call, so it can't be in the folder where the processes write their counts.
    """
    registry = CollectorRegistry()
    registry.register(_BuildInfo())
    return registry
