"""The calls in docs/api.md agree with the OpenAPI document."""

import json
import re
from typing import Any

import pytest

from tests.support.docs.pages import API
from tests.unit.config.api.schema.test_openapi import OPERATIONS, responses_of

# The section of each call, by "METHOD path".
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


def test_each_json_sample_of_the_page_is_json() -> None:
    samples = re.findall(r"^```json\n(.*?)^```$", API.read_text(), re.MULTILINE | re.DOTALL)
    assert samples
    for sample in samples:
        json.loads(sample)
