"""The responses of a worker's metrics port, with and without the token."""

import urllib.error
import urllib.request

import pytest

from config.observe import worker_metrics
from demo.services.process import free_port


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize(
    ("path", "headers", "code"),
    [
        ("/healthz", {}, 200),
        ("/metrics", {}, 404),
        ("/metrics", {"Authorization": "Bearer a-token"}, 200),
        ("/", {"Authorization": "Bearer a-token"}, 404),
    ],
)
def test_probe_needs_no_token_and_metrics_do(path: str, headers: dict[str, str], code: int) -> None:
    port = free_port()
    server = worker_metrics.serve(port, "a-token")
    try:
        assert status(f"http://127.0.0.1:{port}{path}", **headers) == code
    finally:
        server.shutdown()
        server.server_close()
