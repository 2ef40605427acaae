"""Each sample of the API reference makes the documented call. All samples run with a server that records calls."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.loopback import Exchange, Scripted, scripted
from tests.unit.config.api.schema.test_openapi import COMPONENTS, OPERATIONS, SCHEMA, responses_of

BASE_URL = SCHEMA["servers"][0]["url"]
KEY = "quitt_" + "4" * 40


def _example(schema: dict[str, Any]) -> Any:
    """Return an example of a schema; a list has one item."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        found = COMPONENTS[name]
        if "examples" in found:
            return found["examples"][0]
        data = _example(found["properties"]["data"])
        return {"object": "list", "url": "/", "has_more": False, "data": data}
    if schema["type"] == "string":
        return ""
    assert schema["type"] == "array"
    return [_example(schema["items"])]


@pytest.fixture
def recorded() -> Iterator[Callable[[str], Scripted]]:
    """Return a function that starts a server which returns one operation's example."""
    with ExitStack() as running:

        def start(name: str) -> Scripted:
            responses = responses_of(OPERATIONS[name][2])
            status = min(status for status in responses if status < "300")
            (content,) = responses[status]["content"].values()
            answer = _example(content["schema"])
            return running.enter_context(scripted(lambda exchange: exchange.reply(answer, int(status))))

        yield start


def assert_called(server: Scripted, name: str) -> Exchange:
    """Check that the operation was called once, as documented; return the call."""
    path, method, operation = OPERATIONS[name]
    (called,) = server.heard
    assert called.method == method.upper()
    assert re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)), called.path)
    if operation["security"]:
        assert called.headers["x-api-key"] == KEY
    described = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    assert called.query.keys() <= described
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        validator = Draft202012Validator({**schema, "components": SCHEMA["components"]})
        validator.validate(json.loads(called.body))
    else:
        assert called.body in (b"", b"{}")
    return called


# tests/integration/clients/typescript runs the TypeScript samples with the built client.
@pytest.mark.parametrize("label", ["curl", "Python"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_sample_makes_its_call(
    name: str, label: str, recorded: Callable[[str], Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation, server = OPERATIONS[name][2], recorded(name)
    (sample,) = [each["source"] for each in operation["x-codeSamples"] if each["label"] == label]
    assert BASE_URL in sample
    sample = sample.replace(BASE_URL, server.url)
    for variable, value in {"QUITTANCE_API_KEY": KEY, "no_proxy": "*", "NO_PROXY": "*"}.items():
        monkeypatch.setenv(variable, value)
    if label == "curl":
        subprocess.run(["bash", "-euc", sample], check=True, capture_output=True, timeout=300)
    else:
        exec(sample, {})  # noqa: S102
    called = assert_called(server, name)
    if "requestBody" in operation:
        assert called.headers["content-type"].startswith("application/json")


def test_all_samples_of_a_request_name_the_same_terms() -> None:
    samples = [each["source"] for each in OPERATIONS["payment_requests.create"][2]["x-codeSamples"]]
    assert len(samples) == 3
    for value in ('"12.50"', "8453", '"order-1001"', '"https://shop.example.com/orders/1001"'):
        assert all(value in sample for sample in samples)
