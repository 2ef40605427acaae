"""The samples of the API reference make the calls that they stand beside: each is run against a recording server."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from jsonschema import Draft202012Validator
from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from tests.loopback import serving
from tests.unit.config.api.schema.test_openapi import COMPONENTS, OPERATIONS, SCHEMA, responses_of

BASE_URL = SCHEMA["servers"][0]["url"]
KEY = "quitt_" + "4" * 40
CLIENT = Path(__file__).resolve().parents[5] / "clients" / "python" / "src"


@dataclass
class Recorder:
    """Answers every call by the example of the description, and remembers the calls."""

    answer: Any
    status: int
    url: str = ""
    calls: list[tuple[str, str, dict[str, str], dict[str, str], bytes]] = field(default_factory=list)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        request = Request(environ)
        query = dict(parse_qsl(urlsplit(request.url).query))
        self.calls.append((request.method, request.path, query, dict(request.headers), request.get_data()))
        made = Response(json.dumps(self.answer), self.status, content_type="application/json")
        return made(environ, start_response)


def _example(schema: dict[str, Any]) -> Any:
    """Return what a schema's answer looks like; a list has one item."""
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
def recorded() -> Iterator[Callable[[str], Recorder]]:
    """Return a starter of a server that answers as one operation does."""
    running = []

    def start(name: str) -> Recorder:
        responses = responses_of(OPERATIONS[name][2])
        status = min(status for status in responses if status < "300")
        (content,) = responses[status]["content"].values()
        recorder = Recorder(_example(content["schema"]), int(status))
        server = serving(make_server("127.0.0.1", 0, recorder, threaded=True))
        recorder.url = server.__enter__()
        running.append(server)
        return recorder

    yield start
    for server in running:
        server.__exit__(None, None, None)


# Those in TypeScript are run with the built client in tests/integration/clients/typescript.
COMMANDS = {"curl": ["bash", "-euc"], "Python": [sys.executable, "-c"]}


@pytest.mark.parametrize("label", COMMANDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_sample_makes_its_call(name: str, label: str, recorded: Callable[[str], Recorder]) -> None:
    path, method, operation = OPERATIONS[name]
    recorder = recorded(name)
    (sample,) = [each["source"] for each in operation["x-codeSamples"] if each["label"] == label]
    assert BASE_URL in sample
    environment = {
        **os.environ, "QUITTANCE_API_KEY": KEY, "PYTHONPATH": str(CLIENT), "no_proxy": "*", "NO_PROXY": "*",
    }  # fmt: skip
    done = subprocess.run(
        [*COMMANDS[label], sample.replace(BASE_URL, recorder.url)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    ((called_method, called_path, query, headers, body),) = recorder.calls
    assert called_method == method.upper()
    assert re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)), called_path)
    if operation["security"]:
        assert headers["X-Api-Key"] == KEY
    assert query.keys() <= {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    if "requestBody" in operation:
        assert headers["Content-Type"].startswith("application/json")
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": SCHEMA["components"]}).validate(json.loads(body))
    else:
        assert body in (b"", b"{}")


def test_all_samples_of_a_request_name_the_same_terms() -> None:
    samples = [each["source"] for each in OPERATIONS["payment_requests.create"][2]["x-codeSamples"]]
    assert len(samples) == 3
    for value in ('"12.50"', "8453", '"order-1001"', '"https://shop.example.com/orders/1001"'):
        assert all(value in sample for sample in samples)
