"""Generate the schemas of response objects from their structs (`config.api.answers`)."""

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import list_hash
from msgspec.structs import fields

from config.api.answers import Answer, Choices

_PLAIN = {str: "string", int: "integer", bool: "boolean"}
_CONSTRAINTS = {"pattern": "pattern", "min_length": "minLength", "ge": "minimum"}


class StructSchema(OpenApiSerializerExtension):
    """drf-spectacular's extension point for structs."""

    target_class = Answer
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:  # noqa: ARG002
        """Return the schema of a struct. A nested struct gets a separate schema."""
        hints = get_type_hints(self.target, include_extras=True)
        schemas: dict[str, Any] = {}
        required = []
        for field in fields(self.target):
            hint = hints[field.name]
            schemas[field.encode_name] = _field(auto_schema, field.encode_name, hint)
            if not _is_optional(hint):
                required.append(field.encode_name)
        return {"type": "object", "properties": schemas, "required": sorted(required)}


def _is_optional(hint: Any) -> bool:
    inner = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return msgspec.UnsetType in get_args(inner)


def _field(auto_schema: AutoSchema, name: str, hint: Any) -> dict[str, Any]:
    schema = _schema(auto_schema, hint)
    if schema.get("type") in ("integer", ["integer", "null"]) and name.endswith("id"):
        schema["format"] = "int64"
    return schema


def _schema(auto_schema: AutoSchema, hint: Any) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _marked(_schema(auto_schema, arguments[0]), hint.__metadata__)
    if origin in (Union, types.UnionType):
        (inner,) = (each for each in arguments if each not in (type(None), msgspec.UnsetType))
        schema = _schema(auto_schema, inner)
        return _nullable(schema) if type(None) in arguments else schema
    if origin is Literal:
        return {"type": "string", "const": arguments[0]}
    if origin is list:
        return {"type": "array", "items": _schema(auto_schema, arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(auto_schema, arguments[1])}
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, Answer):
        return reference_to(auto_schema, hint)
    return {}


def reference_to(auto_schema: AutoSchema, struct: type[Answer]) -> dict[str, Any]:
    resolve: Any = auto_schema.resolve_serializer  # drf-spectacular's types allow only serializers here
    return dict(resolve(struct, "response").ref)


def _marked(schema: dict[str, Any], marks: tuple[Any, ...]) -> dict[str, Any]:
    for mark in marks:
        if isinstance(mark, Choices):
            schema = _choice(schema, mark)
        elif isinstance(mark, msgspec.Meta):
            schema |= {
                there: getattr(mark, here)
                for here, there in _CONSTRAINTS.items()
                if getattr(mark, here) is not None
            }
            schema |= mark.extra_json_schema or {}
            if mark.description is not None:
                schema = _with_description(schema, mark.description)
    return schema


def _choice(schema: dict[str, Any], mark: Choices) -> dict[str, Any]:
    """Return an enumeration in drf-spectacular's format. drf-spectacular's hook then gives the enumeration a name."""
    values: list[str | None] = [value for value, _ in mark.choices]
    if "null" in schema["type"]:
        values.append(None)
    return {"enum": values, "type": "string", "x-spec-enum-id": list_hash(mark.choices)}


def _with_description(schema: dict[str, Any], description: str) -> dict[str, Any]:
    if "$ref" in schema:
        return {"allOf": [schema], "description": description}
    return {**schema, "description": description}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return {"oneOf": [schema, {"type": "null"}]}
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}
