"""The API key in a node's URL never appears in a log line or an exception, however the node fails."""

import logging
import traceback

import pytest

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.rpc import json_rpc
from demo.services.process import free_port
from tests.support.chains.faulty_node import Exchange, serving
from tests.unit.chains.rpc.test_failing_nodes import FAULTS

KEY = "k3y-0f-th3-n0de"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rpc, "READ_SECONDS", 0.2)
    monkeypatch.setattr(json_rpc, "RESPONSE_SECONDS", 0.3)
    monkeypatch.setattr(json_rpc, "MAX_RESPONSE_BYTES", 64 * 1024)


def broken_headers(exchange: Exchange) -> None:
    exchange.write(b"HTTP/1.1 200 OK\r\nthis is no header\r\nContent-Length: 2\r\n\r\n{}")


@pytest.mark.parametrize("fault", [*FAULTS, "broken headers"])
def test_no_fault_of_a_node_shows_its_key(fault: str, caplog: pytest.LogCaptureFixture) -> None:
    with serving(FAULTS.get(fault, broken_headers), path=f"/v2/{KEY}?key={KEY}") as node:
        assert_hidden(node.url, caplog)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/v2/{key}",
        "http://user:{key}@127.0.0.1:{port}/",
        "http://no-such-host.invalid/{key}",
        "http://[{key}",
        "ftp://127.0.0.1/{key}",
        "{key}",
        "http://127.0.0.1:99999999/{key}",
    ],
)
def test_no_unreachable_or_malformed_address_shows_the_key(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert_hidden(url.format(port=free_port(), key=KEY), caplog)


def assert_hidden(url: str, caplog: pytest.LogCaptureFixture) -> None:
    """Check that a failed call can be retried, and that no log line or exception of it shows the key."""
    caplog.set_level(logging.INFO)
    logging.getLogger("urllib3").setLevel(logging.WARNING)
    with pytest.raises(ChainError) as failed:
        EvmClient([url], 31337).look_up(["0x" + "ab" * 32], with_finality=False)
    assert not failed.value.permanent
    seen = "".join(traceback.format_exception(failed.value)) + repr(failed.value) + caplog.text
    assert KEY not in seen
    assert "sent no usable response" in caplog.text
