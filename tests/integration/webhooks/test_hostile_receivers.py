"""Receivers try to block a worker. Each attempt ends in time, and the memory doesn't grow."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.processes import REPOSITORY
from webhooks.dispatch.http_client import Answer, Rules, post

RULES = Rules(allow_http=True, allow_private=True)
BODY = b'{"id":"evt_1"}' + b" " * 4096
LONGEST_SECONDS = 10.5
MAX_GROWTH_BYTES = 20 * 1024 * 1024
AT_ONCE_OF_EACH = 2
STATUS = {
    "silent": None,
    "slow_headers": None,
    "endless_headers": 500,
    "a_million_headers": 500,
    "slow_body": 500,
    "endless_body": 500,
    "endless_chunk_size": 500,
    "compressed_bomb": 500,
    "a_hundred_interim_answers": None,
    "interim_answers_for_ever": None,
    "redirect_to_the_metadata": 307,
    "reset_at_once": None,
    "reset_after_the_status": 500,
    "never_reads": None,
    "garbage": None,
    "tls_stall": None,
    "half_open": None,
}


@pytest.fixture
def receivers() -> Iterator[dict[str, int]]:
    command = [sys.executable, "-m", "tests.integration.webhooks.hostile_receivers"]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        yield json.loads(running.stdout.readline())
        running.kill()


def test_each_attempt_ends_within_10_5_seconds_with_flat_memory(
    receivers: dict[str, int],
) -> None:
    calls = [
        (name, f"{'https' if name == 'tls_stall' else 'http'}://127.0.0.1:{port}/")
        for name, port in receivers.items()
    ]
    assert {name for name, _ in calls} == STATUS.keys()
    with ThreadPoolExecutor(len(calls) * AT_ONCE_OF_EACH) as pool:
        # Let threads and certificates use their memory first, so that it isn't counted for the receivers.
        list(pool.map(time.sleep, [0.05] * len(calls) * AT_ONCE_OF_EACH))
        post("https://127.0.0.1:9/", b"", {}, rules=RULES)
        before = peak = _resident_bytes()
        running = [(name, pool.submit(_timed, url)) for name, url in calls * AT_ONCE_OF_EACH]
        while not all(ended.done() for _, ended in running):
            peak = max(peak, _resident_bytes())
            time.sleep(0.05)
    for name, ended in running:
        answer, seconds = ended.result()
        assert seconds < LONGEST_SECONDS, name
        assert answer.status_code == STATUS[name], name
        assert answer.error, name
        assert len(answer.excerpt) <= 1024, name
    assert peak - before < MAX_GROWTH_BYTES


def _timed(url: str) -> tuple[Answer, float]:
    started = time.monotonic()
    answer = post(url, BODY, {"Content-Type": "application/json"}, rules=RULES)
    return answer, time.monotonic() - started


def _resident_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return 0  # not Linux: the test doesn't check the memory
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
