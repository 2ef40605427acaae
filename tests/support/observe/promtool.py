"""Prometheus' own tool, on the rules of deploy/observability and what /metrics returned."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.docs.pages import REPOSITORY

FOLDER = REPOSITORY / "deploy" / "observability"
RULES = FOLDER / "alerts.yml"
# Longer than any alert waits, and than the hour that the longest window covers.
MINUTES = 75
_COUNTS = ("counter", "histogram", "summary")


def promtool() -> str:
    """Return the program; without it a test is skipped, except in continuous integration."""
    found = shutil.which("promtool")
    if found is None and not os.environ.get("CI"):
        pytest.skip("promtool is missing: install the package prometheus")
    assert found is not None, (
        "promtool is missing, and continuous integration does not skip the tests of alerts"
    )
    return found


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [promtool(), *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False
    )


def series(before: str, after: str) -> list[dict[str, str]]:
    """Return what Prometheus would see if, each minute, as much were counted as between these two answers.

    Gauges have their value of `after`.
    """
    earlier = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(before)
        for sample in family.samples
    }
    made = []
    for family in text_string_to_metric_families(after):
        for sample in family.samples:
            labels = ", ".join(f"{name}={json.dumps(value)}" for name, value in sample.labels.items())
            start, step = sample.value, 0.0
            if family.type in _COUNTS:
                start = earlier.get((sample.name, *sorted(sample.labels.items())), 0.0)
                step = sample.value - start
            values = f"{start:f}+{step:f}x{MINUTES}"
            made.append({"series": f"{sample.name}{{{labels}}}", "values": values})
    return made


def firing(before: str, after: str, folder: Path) -> set[str]:
    """Return the names of the alerts that fire if it goes on like this."""
    up = {"series": 'up{job="quittance-web", instance="web"}', "values": f"1x{MINUTES}"}
    names = alert_names()
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [up, *series(before, after)],
                # An expression for each, which promtool compares with "fires": what it reports as wrong does not.
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{name}", alertstate="firing"}} ) or vector(0)',
                        "eval_time": f"{MINUTES}m",
                        "exp_samples": [{"labels": "{}", "value": -1}],
                    }
                    for name in names
                ],
            }
        ],
    }
    file = folder / "faults.json"  # JSON is YAML as well
    file.write_text(json.dumps(test))
    shown = run("test", "rules", str(file))
    text = shown.stdout + shown.stderr
    counts = _counts(text)
    assert counts.keys() == set(names), text[:3000]
    return {name for name, count in counts.items() if count > 0}


def _counts(text: str) -> dict[str, int]:
    """Return how often each alert fires, read from what promtool reports for an expectation that never holds."""
    found = re.findall(r'alertname=\\"(\w+)\\".*?got:\s*\{\}\s+([\d.E+-]+)', text, re.DOTALL)
    return {name: int(float(count)) for name, count in found}


def alert_names() -> list[str]:
    return re.findall(r"- alert: (\w+)", RULES.read_text())
