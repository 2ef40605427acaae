"""Each response object is defined once. Its struct determines both the JSON and the OpenAPI document."""

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

from config.api.answers import Answer, AnswerRenderer, ListPage


def all_structs(kind: type[Answer] = Answer) -> set[type[Answer]]:
    return {kind}.union(*(all_structs(each) for each in kind.__subclasses__()))


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    described_api: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return described_api


def test_every_successful_json_response_is_a_struct(description: dict[str, Any]) -> None:
    names = {
        override["component_name"]
        for struct in all_structs()
        if (override := struct.__dict__.get("_spectacular_annotation"))
    }
    seen = set()
    for path, calls in description["paths"].items():
        for method, operation in calls.items():
            for status, response in operation["responses"].items():
                if not status.startswith("2") or "content" not in response:
                    continue
                if "text/event-stream" in response["content"]:
                    continue
                schema = response["content"]["application/json"]["schema"]
                component = schema.get("items", schema)["$ref"].rsplit("/", 1)[1]
                assert component in names, f"{method} {path} is described by something else"
                seen.add(component)
    assert {"PaymentRequest", "PaymentList", "Checkout", "Chain"} <= seen


def test_a_struct_is_encoded_in_the_order_of_its_fields() -> None:
    page = ListPage(url="/api/things", has_more=False, data=[{"b": 1, "a": "é"}])
    body = AnswerRenderer().render(page)
    assert body == '{"object":"list","url":"/api/things","has_more":false,"data":[{"b":1,"a":"é"}]}'.encode()
