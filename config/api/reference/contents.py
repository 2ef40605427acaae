"""Convert the OpenAPI document to the contents of the reference page."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify

from config.api.reference.markdown import headings_of, html_of, inline

_EVENTS = "Webhook events"
_LIMITS = (
    ("maxLength", "at most {} characters"),
    ("maxItems", "at most {} items"),
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("maxProperties", "at most {} keys"),
    ("default", "default {}"),
)


@dataclass(frozen=True)
class Field:
    """A field of an object, or a parameter of a call. `place` is where a parameter is sent: path, query or header."""

    name: str
    type: SafeString
    about: SafeString
    is_required: bool
    limits: str = ""
    place: str = ""


@dataclass(frozen=True)
class Object:
    """A schema of the document: an object with fields, or an enumeration with values."""

    name: str
    about: SafeString
    fields: list[Field]
    values: list[str]
    example: str


@dataclass(frozen=True)
class Response:
    status: str
    about: SafeString
    type: SafeString | str
    example: str


@dataclass(frozen=True)
class Call:
    """One operation, with everything that its section shows."""

    id: str
    method: str
    path: str
    title: str
    about: SafeString
    parameters: list[Field]
    body: Object | None
    responses: list[Response]
    errors: list[tuple[str, SafeString]]
    samples: list[tuple[str, str]]


@dataclass(frozen=True)
class Section:
    """A section of the page: the calls with one tag, or all webhook events."""

    id: str
    title: str
    about: SafeString
    calls: list[Call] = field(default_factory=list)
    events: list[tuple[str, SafeString]] = field(default_factory=list)
    verification: SafeString | str = ""
    headers: list[Field] = field(default_factory=list)


@dataclass(frozen=True)
class Reference:
    title: str
    server: str
    introduction: SafeString
    headings: list[tuple[str, str]]
    sections: list[Section]
    objects: list[Object]


def reference_of(document: Mapping[str, Any]) -> Reference:
    """Return the contents of the reference page for a complete OpenAPI document."""
    reader = _Reader(document)
    introduction = document["info"]["description"]
    return Reference(
        title=document["info"]["title"],
        server=document["servers"][0]["url"],
        introduction=html_of(introduction),
        headings=headings_of(introduction),
        sections=[
            section for tag in document["tags"] if (section := reader.section(tag)).calls or section.events
        ],
        objects=reader.objects(),
    )


class _Reader:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._components = document["components"]
        self._bodies: set[str] = set()

    def section(self, tag: Mapping[str, str]) -> Section:
        calls = [
            self._call(path, method, operation)
            for path, operations in self._document["paths"].items()
            for method, operation in operations.items()
            if operation["tags"] == [tag["name"]]
        ]
        about = inline(tag["description"])
        section_id = slugify(tag["name"])
        if tag["name"] != _EVENTS:
            return Section(section_id, tag["name"], about, calls)
        webhooks = {name: methods["post"] for name, methods in self._document["webhooks"].items()}
        first = next(iter(webhooks.values()))
        return Section(
            section_id,
            tag["name"],
            about,
            events=[(name, html_of(_split(each)[0])) for name, each in webhooks.items()],
            verification=html_of(_split(first)[1]),
            headers=[self._parameter(each) for each in first["parameters"]],
        )

    def objects(self) -> list[Object]:
        """Return the document's schemas. Request bodies are left out, because the calls show them."""
        return [
            self._object(name, schema)
            for name, schema in self._components["schemas"].items()
            if name not in self._bodies
        ]

    def _call(self, path: str, method: str, operation: Mapping[str, Any]) -> Call:
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        responses = {status: self._resolved(each) for status, each in operation["responses"].items()}
        return Call(
            id=operation["operationId"],
            method=method.upper(),
            path=path,
            title=operation["summary"],
            about=html_of(operation["description"]),
            parameters=[self._parameter(each) for each in operation.get("parameters", ())],
            body=self._body(body["schema"]) if body else None,
            responses=[self._response(*each) for each in responses.items() if each[0] < "400"],
            errors=[
                (status, html_of(each["description"]))
                for status, each in responses.items()
                if status >= "400"
            ],
            samples=[(each["label"], each["source"].rstrip()) for each in operation["x-codeSamples"]],
        )

    def _resolved(self, response: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" not in response:
            return response
        shared: Mapping[str, Any] = self._components["responses"][_name(response)]
        return shared

    def _body(self, schema: Mapping[str, Any]) -> Object:
        name = _name(schema)
        self._bodies.add(name)
        return self._object(name, self._components["schemas"][name])

    def _response(self, status: str, response: Mapping[str, Any]) -> Response:
        about = inline(response["description"])
        for media_type, content in response.get("content", {}).items():
            schema = content["schema"]
            if media_type == "application/json":
                return Response(status, about, self._type(schema), _json(self._example(schema)))
            return Response(status, about, media_type, "")
        return Response(status, about, "", "")

    def _parameter(self, parameter: Mapping[str, Any]) -> Field:
        return self._field(
            parameter["name"],
            {**parameter["schema"], "description": parameter["description"]},
            is_required=parameter.get("required", False),
            place=parameter["in"],
        )

    def _object(self, name: str, schema: Mapping[str, Any]) -> Object:
        required = schema.get("required", ())
        return Object(
            name=name,
            about=html_of(schema.get("description", "")),
            fields=[
                self._field(each, about, is_required=each in required)
                for each, about in schema.get("properties", {}).items()
            ],
            values=schema.get("enum", []),
            example=_json(schema["examples"][0]) if "examples" in schema else "",
        )

    def _field(self, name: str, schema: Mapping[str, Any], *, is_required: bool, place: str = "") -> Field:
        limits = [text.format(json.dumps(schema[key])) for key, text in _LIMITS if key in schema]
        about = inline(schema.get("description", ""))
        return Field(name, self._type(schema), about, is_required, ", ".join(limits), place)

    def _type(self, schema: Mapping[str, Any]) -> SafeString:
        if "$ref" in schema:
            return format_html('<a href="#object/{0}">{0}</a>', _name(schema))
        for group in ("allOf", "oneOf"):
            if group in schema:
                return SafeString(" or ".join(self._type(each) for each in schema[group]))
        if "const" in schema:
            return format_html("<code>{}</code>", json.dumps(schema["const"]))
        if "enum" in schema:
            values = (format_html("<code>{}</code>", json.dumps(each)) for each in schema["enum"])
            return SafeString(", ".join(values))
        kinds = schema.get("type", "any")
        if isinstance(kinds, str):
            kinds = [kinds]
        return SafeString(" or ".join(self._plain_type(kind, schema) for kind in kinds))

    def _plain_type(self, kind: str, schema: Mapping[str, Any]) -> str:
        if kind == "array":
            return f"array of {self._type(schema['items'])}"
        if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
            return f"object with {self._type(schema['additionalProperties'])} values"
        return (
            {"date-time": "time", "uuid": "UUID", "uri": "URL"}.get(schema.get("format", ""), kind)
            if (kind == "string")
            else kind
        )

    def _example(self, schema: Mapping[str, Any]) -> Any:
        if "$ref" in schema:
            return self._example(self._components["schemas"][_name(schema)])
        if "examples" in schema:
            return schema["examples"][0]
        if schema.get("type") == "array":
            return [self._example(schema["items"])]
        if "data" in schema.get("properties", {}):  # a list
            data = self._example(schema["properties"]["data"])
            return {"object": "list", "url": "…", "has_more": False, "data": data}
        return None


def _name(reference: Mapping[str, str]) -> str:
    return reference["$ref"].rsplit("/", 1)[1]


def _split(webhook: Mapping[str, Any]) -> tuple[str, str]:
    """Split a webhook's description into two texts: when the event is sent, and how to verify events."""
    occasion, _, verification = webhook["description"].partition("\n\n")
    return occasion, verification


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)
