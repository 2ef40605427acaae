"""Calls to nodes are counted by the node's host, with their outcomes and durations."""

import contextlib

import pytest
from prometheus_client import REGISTRY, generate_latest

from chains.client import ChainError
from chains.rpc.nodes import Node
from chains.rpc.transport import Limits, post_calls
from config.observe.outside_calls import Kind, Outcome
from demo.services.process import free_port
from tests.loopback import Behaviour
from tests.support.chains.faulty_node import serving
from tests.support.observe.outside_calls import calls_by_outcome, durations, outcomes_between
from tests.unit.chains.rpc.test_failing_nodes import FAULTS, sound, with_responses

HOST = "127.0.0.1"
LIMITS = Limits(connect_seconds=0.5, read_seconds=0.3, whole_seconds=0.5, max_bytes=64 * 1024)
KEY = "k3y-0f-th3-n0de"


def fault_of_each_call(message: str) -> Behaviour:
    error = {"code": -32005, "message": message}
    return with_responses(lambda responses: [{"id": each["id"], "error": error} for each in responses])


def outcomes_of(url: str) -> dict[Outcome, float]:
    """Send a batch of two methods and return the counted outcomes."""
    before, timed = calls_by_outcome(Kind.NODE, HOST), durations(Kind.NODE, HOST)
    with contextlib.suppress(ChainError):
        post_calls(Node(url), [1, 2], [("eth_blockNumber", []), ("eth_gasPrice", [])], LIMITS)
    assert durations(Kind.NODE, HOST) == timed + 1
    return outcomes_between(before, calls_by_outcome(Kind.NODE, HOST))


@pytest.mark.parametrize(
    ("behave", "outcome"),
    [
        (sound, Outcome.OK),
        (FAULTS["429"], Outcome.RATE_LIMITED),
        (FAULTS["401"], Outcome.REJECTED),
        (FAULTS["502"], Outcome.FAILED),
        (FAULTS["a redirect"], Outcome.UNUSABLE),
        (FAULTS["HTML"], Outcome.UNUSABLE),
        (FAULTS["too large"], Outcome.UNUSABLE),
        (FAULTS["one answer missing"], Outcome.UNUSABLE),
        (FAULTS["a stall"], Outcome.TIMED_OUT),
        (FAULTS["a drip"], Outcome.TIMED_OUT),
        (FAULTS["a hang-up"], Outcome.UNREACHABLE),
        (fault_of_each_call("daily request count exceeded, request rate limited"), Outcome.RATE_LIMITED),
        (fault_of_each_call("query returned more than 10000 results"), Outcome.OK),
    ],
)
def test_a_call_to_a_node_is_counted_by_its_outcome(behave: Behaviour, outcome: Outcome) -> None:
    with serving(behave) as node:
        assert outcomes_of(node.url) == {outcome: 1}


def test_node_without_a_server_counts_as_unreachable() -> None:
    assert outcomes_of(f"http://{HOST}:{free_port()}") == {Outcome.UNREACHABLE: 1}


def test_methods_of_a_batch_are_counted_and_no_key_is_shown() -> None:
    labels = {"name": HOST}
    before = REGISTRY.get_sample_value("quittance_node_methods_total", labels) or 0
    with serving(sound, path=f"/v2/{KEY}") as node:
        outcomes_of(node.url + f"?key={KEY}")
    assert REGISTRY.get_sample_value("quittance_node_methods_total", labels) == before + 2
    assert KEY not in generate_latest(REGISTRY).decode()


def test_mistyped_url_leaves_the_metrics_readable() -> None:
    with contextlib.suppress(ChainError):
        post_calls(Node("http://\ud800"), [1], [("eth_blockNumber", [])], LIMITS)
    assert r'name="\\ud800"' in generate_latest(REGISTRY).decode()
