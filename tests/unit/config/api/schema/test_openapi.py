"""The OpenAPI document is valid and complete, and describes everything that a caller needs for each call."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from config.api.errors import ErrorCode, status_of
from config.api.schema.errors import MEANINGS
from config.api.schema.views import described_as
from webhooks.event_types import EventType

SCHEMA: dict[str, Any] = json.loads(described_as("json"))
COMPONENTS: dict[str, Any] = SCHEMA["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: (path, method, operation)
    for path, methods in SCHEMA["paths"].items()
    for method, operation in methods.items()
}


def responses_of(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the operation's responses, with references to shared ones resolved."""
    shared = SCHEMA["components"]["responses"]
    return {
        status: shared[response["$ref"].rsplit("/", 1)[1]] if "$ref" in response else response
        for status, response in operation["responses"].items()
    }


# Paths under /api that show the document and are not calls of the API.
OWN_PAGES = {"/api/schema", "/api/docs"}


def test_schema_is_valid_openapi_3_1_without_warnings() -> None:
    validate(SCHEMA)
    assert SCHEMA["openapi"].startswith("3.1.")
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=io.StringIO())


def _routes(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, prefix + str(pattern.pattern))
            continue
        path = "/" + prefix + str(pattern.pattern)
        for converter in ("str", "int", "uuid"):
            path = path.replace(f"<{converter}:", "{")
        view: Any = pattern.callback
        methods = getattr(view, "actions", None) or [
            name for name in ("get", "post", "put", "patch") if hasattr(getattr(view, "cls", None), name)
        ]
        for method in methods:
            yield path.replace(">", "}"), method


def test_each_call_under_api_is_described_and_nothing_else() -> None:
    answered = {
        (path, method)
        for path, method in _routes(get_resolver().url_patterns)
        if path.startswith("/api/") and path not in OWN_PAGES and method != "head"
    }
    assert {(path, method) for path, method, _ in OPERATIONS.values()} == answered


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_documents_purpose_access_and_responses(name: str) -> None:
    path, method, operation = OPERATIONS[name]
    assert operation["summary"]
    assert operation["description"].count(".") >= 2
    assert operation["tags"][0] in {tag["name"] for tag in SCHEMA["tags"]}
    assert bool(operation["security"]) != path.startswith("/api/public/")
    assert ("Public: needs no credentials." in operation["description"]) == path.startswith("/api/public/")
    statuses = set(operation["responses"])
    assert statuses & {"200", "201"}
    assert {"429", "500", "503"} <= statuses
    assert ({"401"} <= statuses) == bool(operation["security"])
    assert ("413" in statuses) == (method in ("post", "put", "patch"))
    for response in responses_of(operation).values():
        assert response["description"]
        assert "X-Request-Id" in response["headers"]
    for parameter in operation.get("parameters", ()):
        assert parameter["description"], parameter["name"]
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    assert ("Idempotency-Key" in names) == (method == "post" and bool(operation["security"]))


def test_operation_security_lists_the_required_permission() -> None:
    needed = {
        name: operation["security"][0]["ApiKey"]
        for name, (_, _, operation) in OPERATIONS.items()
        if operation["security"]
    }
    assert needed["payment_requests.create"] == ["create_payments"]
    assert needed["payment_requests.retrieve"] == []
    assert needed["webhooks.retrieve"] == ["manage_webhooks"]
    refunds = {name: permissions for name, permissions in needed.items() if name.startswith("refunds.")}
    reads = {"refunds.list", "refunds.list_of_request", "refunds.retrieve"}
    assert {name for name, permissions in refunds.items() if permissions == []} == reads
    assert {name for name, permissions in refunds.items() if permissions == ["create_refunds"]} == (
        set(refunds) - reads
    )
    assert all(len(operation["security"]) in (0, 2) for _, _, operation in OPERATIONS.values())


def test_only_stored_responses_are_marked_as_replayed() -> None:
    replayed = {
        name: {
            status
            for status, response in responses_of(operation).items()
            if "Idempotent-Replayed" in response["headers"]
        }
        for name, (_, _, operation) in OPERATIONS.items()
    }
    assert replayed["payment_requests.cancel"] == {"200", "409"}
    assert replayed["refunds.create"] == {"201"}
    assert replayed["refunds.build"] == set()
    assert replayed["payment_requests.retrieve"] == set()


def _properties() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for component, schema in COMPONENTS.items():
        for name, part in schema.get("properties", {}).items():
            yield component, name, part


def test_each_field_has_a_meaning_and_an_example() -> None:
    def is_bare(part: dict[str, Any]) -> bool:
        target = COMPONENTS[part["$ref"].rsplit("/", 1)[1]] if "$ref" in part else {}
        return not (part.get("description") or target.get("description"))

    bare = [f"{component}.{name}" for component, name, part in _properties() if is_bare(part)]
    assert bare == []
    shown = {
        component: schema["examples"][0] for component, schema in COMPONENTS.items() if "examples" in schema
    }
    lists = {name for name in COMPONENTS if "has_more" in COMPONENTS[name].get("properties", {})}
    objects = {name for name, schema in COMPONENTS.items() if schema.get("type") == "object"}
    assert objects - lists - {"Error", "ErrorDetail"} == set(shown)
    optional = {
        "failure_code",
        "failure_message",
        "test",
        "reason",
        "token_address",
        "transaction",
        "allow_parallel",
        "batch",
        "price",
        "open_amount",
        "payment_link",
        "binding",
        "refund_id",
        "reorged",
    }
    of_refunds = {
        "object",
        "payment_id",
        "recipient_address",
        "address_source",
        "refund_url",
        "claim_url",
    } | {"explorer_url", "confirmations", "created_at", "completed_at"}
    for component, example in shown.items():
        assert set(COMPONENTS[component]["properties"]) - set(example) <= optional | of_refunds, component


@pytest.mark.parametrize("component", [name for name, schema in COMPONENTS.items() if "examples" in schema])
def test_each_example_is_what_the_description_says(component: str) -> None:
    schema = {"$ref": f"#/components/schemas/{component}", "components": SCHEMA["components"]}
    Draft202012Validator(schema).validate(COMPONENTS[component]["examples"][0])


def test_each_error_code_is_described_and_listed_by_its_status() -> None:
    assert set(MEANINGS) == set(ErrorCode)
    documented: set[str] = set()
    for _, _, operation in OPERATIONS.values():
        for status, response in responses_of(operation).items():
            if status < "400":
                continue
            schema = response["content"]["application/json"]["schema"]
            codes = schema["properties"]["error"]["properties"]["code"]["enum"]
            assert all(status_of(ErrorCode(code)) == int(status) for code in codes)
            documented |= set(codes)
    # A documented call can't return this code: it is for wrong methods.
    assert {code.value for code in ErrorCode} - documented == {"method_not_allowed"}


def test_each_event_type_is_a_webhook_with_signature_header() -> None:
    assert list(SCHEMA["webhooks"]) == EventType.values
    for type_, item in SCHEMA["webhooks"].items():
        operation = item["post"]
        headers = {parameter["name"] for parameter in operation["parameters"] if parameter["in"] == "header"}
        assert headers == {"Service-Signature", "Service-Event-Id", "Service-Event-Type"}
        assert "constant time" in operation["description"]
        assert "300 seconds" in operation["description"]
        _, only = operation["requestBody"]["content"]["application/json"]["schema"]["allOf"]
        assert only["properties"]["type"] == {"const": type_}


def test_it_is_served_as_json_as_yaml_and_only_when_it_changed(client: Client) -> None:
    response = client.get("/api/schema")
    assert response["Content-Type"] == "application/json"
    assert response.json()["info"]["title"] == "Quittance API"
    assert yaml.safe_load(client.get("/api/schema?format=yaml").content) == response.json()
    again = client.get("/api/schema", headers={"If-None-Match": response["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    refused = client.get("/api/schema?format=xml")
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "format")


def test_the_page_and_the_description_are_only_read(client: Client) -> None:
    for path in OWN_PAGES:
        response = client.post(path, {})
        assert (response.status_code, response.json()["error"]["code"]) == (405, "method_not_allowed")
        assert "GET" in response["Allow"]


def test_production_describes_no_sandbox(settings: Any) -> None:
    assert "sandbox.simulate" in OPERATIONS
    settings.ENVIRONMENT = "production"
    described_as.cache_clear()
    try:
        assert b"/api/test/" not in described_as("json")
    finally:
        described_as.cache_clear()
