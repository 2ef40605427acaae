"""What the API reference page says of each call agrees with the description that real answers are held to."""

import json
import re
from typing import Any

import pytest

from tests.support.docs.pages import API
from tests.unit.config.api.schema.test_openapi import COMPONENTS, OPERATIONS, responses_of

# Each call's own section, by "METHOD path".
SECTIONS = dict(
    re.findall(
        r"^### `((?:GET|POST|PUT|PATCH) /api/[^`]+)`\n(.*?)(?=^##)", API.read_text(), re.MULTILINE | re.DOTALL
    )
)
CALLS = {
    f"{method.upper()} {path}": (name, operation) for name, (path, method, operation) in OPERATIONS.items()
}


def test_each_call_has_a_section_and_each_section_a_call() -> None:
    assert SECTIONS.keys() == CALLS.keys()


def _codes_by_status(operation: dict[str, Any]) -> dict[str, set[str]]:
    return {
        status: set(
            response["content"]["application/json"]["schema"]["properties"]["error"]["properties"]["code"][
                "enum"
            ]
        )
        for status, response in responses_of(operation).items()
        if status >= "400"
    }


@pytest.mark.parametrize("call", SECTIONS)
def test_the_errors_that_a_section_names_are_those_of_the_call(call: str) -> None:
    answered = _codes_by_status(CALLS[call][1])
    text = " ".join(SECTIONS[call].split())
    for status, codes in re.findall(r"\b([45]\d\d) ((?:`\w+`(?:, | or | and )?)+)", text):
        for code in re.findall(r"\w+", codes.replace(" or ", " ").replace(" and ", " ")):
            assert code in answered.get(status, set()), f"{call}: {status} {code}"


@pytest.mark.parametrize(
    "call", [call for call, text in SECTIONS.items() if re.search(r"`\{.*?\}` →", text, re.DOTALL)]
)
def test_the_body_that_a_section_shows_is_what_the_call_takes(call: str) -> None:
    (shown,) = re.findall(r"`\{([^{}]*)\}` →", SECTIONS[call])
    fields = re.findall(r'"(\w+)"(\??)', shown)
    reference = CALLS[call][1]["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema = COMPONENTS[reference.rsplit("/", 1)[1]]
    assert {name for name, _ in fields} == schema["properties"].keys()
    either = (
        set(re.findall(r'"(\w+)" \| "(\w+)"', shown)[0]) if " | " in shown else set()
    )  # one of the two is needed
    assert {name for name, mark in fields if not mark} - either == set(schema.get("required", ()))


def test_each_json_sample_of_the_page_is_json() -> None:
    samples = re.findall(r"^```json\n(.*?)^```$", API.read_text(), re.MULTILINE | re.DOTALL)
    assert samples
    for sample in samples:
        json.loads(sample)
