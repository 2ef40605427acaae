"""Run promtool with the rules of deploy/observability on responses of /metrics."""

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
# Longer than the delay of any alert, and longer than the longest window (an hour).
MINUTES = 75
_COUNTS = ("counter", "histogram", "summary")


def promtool() -> str:
    """Return promtool's path. Without it, the test is skipped, except in CI."""
    found = shutil.which("promtool")
    if found is None and not os.environ.get("CI"):
        pytest.skip("promtool is missing: install the package prometheus")
    assert found is not None, (
        "promtool is missing, and continuous integration does not skip the tests of alerts"
    )
    return found


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [promtool(), *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=900, check=False
    )


def series(before: str, after: str) -> list[dict[str, str]]:
    """Return the series that Prometheus would see if the counters grew each minute as between these two responses.

    Gauges have their value in `after`.
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
    """Return the names of the alerts that fire if the counters continue to grow like this."""
    up = {"series": 'up{job="quittance-web", instance="web"}', "values": f"1x{MINUTES}"}
    names = alert_names()
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [up, *series(before, after)],
                # Each alert's expression is compared with "fires", which never matches. promtool reports the
                # actual result.
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
    file = folder / "faults.json"  # JSON is valid YAML
    file.write_text(json.dumps(test))
    shown = run("test", "rules", str(file))
    text = shown.stdout + shown.stderr
    counts = _counts(text)
    assert counts.keys() == set(names), text[:3000]
    return {name for name, count in counts.items() if count > 0}


def _counts(text: str) -> dict[str, int]:
    """Return how often each alert fires, read from promtool's report of a failed comparison."""
    found = re.findall(r'alertname=\\"(\w+)\\".*?got:\s*\{\}\s+([\d.E+-]+)', text, re.DOTALL)
    return {name: int(float(count)) for name, count in found}


def alert_names() -> list[str]:
    return re.findall(r"- alert: (\w+)", RULES.read_text())
