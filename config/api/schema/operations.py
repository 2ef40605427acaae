"""Generate the OpenAPI 3.1 document from the views, structs and serializers.

Describe a view with `operation`, a struct or serializer with `described`, and a field with `doc` or `help_text`. The
credentials, permissions, common errors and headers of an operation come from its view.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, cast

import msgspec
from django.conf import settings
from django.utils.module_loading import import_string
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_serializer
from rest_framework import serializers

from config.api.answers import Answer, ListPage, doc
from config.api.errors import FINAL_CONFLICTS, ErrorCode
from config.api.schema import errors, structs
from config.api.schema.components import HEADERS, SECURITY_SCHEMES
from config.api.schema.samples import add_samples
from config.api.serializers import StrictSerializer

Described = TypeVar("Described", bound=type[serializers.BaseSerializer[Any]] | type[Answer])
View = TypeVar("View", bound=Callable[..., Any])
# By HTTP status, or by status and media type for a response that isn't JSON.
Answers = Mapping[int | tuple[int, str], OpenApiResponse]

_OWN_ERRORS = "x-own-errors"  # `operation` sets it; `Inspector` reads and removes it
_OWN_HEADERS = "x-own-headers"
_SANDBOX = "/api/test/"
_WEBHOOKS = "webhooks.api.reference.described_calls"  # a path, because `config` imports no app


def operation(
    identifier: str,
    *,
    tag: str,
    summary: str,
    description: str,
    answers: Answers,
    body: Any = None,
    query: type[serializers.Serializer[Any]] | None = None,
    path: Mapping[str, str] | None = None,
    errors: Sequence[ErrorCode] = (),
    parameters: Sequence[OpenApiParameter] = (),
    answer_headers: Mapping[int, Sequence[str]] | None = None,
) -> Callable[[View], View]:
    """Describe a view's operation. `path` has a description of each variable in the path.

    `errors` lists the error codes that only some operations have. `answer_headers` lists the extra response headers of
    each status, by their names in `components.HEADERS`.
    """
    variables = [
        OpenApiParameter(name, OpenApiTypes.STR, OpenApiParameter.PATH, description=meaning)
        for name, meaning in (path or {}).items()
    ]
    return extend_schema(
        operation_id=identifier,
        tags=[tag],
        summary=summary,
        description=description,
        request=body,
        responses={
            (str(key[0]), key[1]) if isinstance(key, tuple) else str(key): answer
            for key, answer in answers.items()
        },
        parameters=[*variables, *parameters, *([query] if query else [])],
        extensions={
            _OWN_ERRORS: [code.value for code in errors],
            _OWN_HEADERS: {str(status): list(names) for status, names in (answer_headers or {}).items()},
        },
    )


def described(
    name: str, text: str, example: Mapping[str, Any] | None = None
) -> Callable[[Described], Described]:
    """Set the name, description and example of a struct or serializer in the OpenAPI document."""

    def decorate(serializer: Described) -> Described:
        decorated = extend_schema_serializer(component_name=name, description=text, many=False)(serializer)
        setattr(decorated, "schema_example", example)  # noqa: B010 - neither kind of class declares it
        return decorated

    return decorate


def list_of(item: type[Answer], name: str) -> type[ListPage]:
    """Return a list object whose `data` are `item`s. `name` is its name in the OpenAPI document."""
    data = Annotated[list[item], doc("The objects on this page, newest first.")]  # type: ignore[valid-type]
    made = cast(type[ListPage], msgspec.defstruct(name, [("data", data)], bases=(ListPage,), kw_only=True))
    return described(name, "One page of a list, newest first.")(made)


class ArrayOf:
    """A response that is a plain array of one kind of object."""

    def __init__(self, item: type[Answer]) -> None:
        self.item = item


class Inspector(AutoSchema):
    """Derive an operation from its view."""

    @property
    def _permissions(self) -> list[Any]:
        return [each for each in self.view.get_permissions() if hasattr(each, "permission")]

    @property
    def _takes_idempotency_key(self) -> bool:
        return self.method == "POST" and bool(self._permissions)

    @property
    def _is_replayed(self) -> bool:
        handler = getattr(self.view, getattr(self.view, "action", None) or self.method.lower())
        return self._takes_idempotency_key and not getattr(handler, "is_never_replayed", False)

    def get_operation(self, *args: Any, **options: Any) -> dict[str, Any] | None:
        """Add the credentials, the errors and the headers of the responses."""
        found = super().get_operation(*args, **options)
        if found is None:
            return None
        own = [ErrorCode(code) for code in found.pop(_OWN_ERRORS, ())]
        found["security"] = self.get_auth()
        found["description"] = f"{found.get('description', '')}\n\n{self._who_may()}".strip()
        headers = found.pop(_OWN_HEADERS, {})
        replayed = ["Idempotent-Replayed"] if self._is_replayed else []
        for status, response in found["responses"].items():
            self._add_headers(response, [*headers.get(status, ()), "X-Request-Id", *replayed])
        rejections = errors.error_responses([*own, *self._common_errors(found)])
        for status, response in rejections.items():
            is_stored = status == "409" and not FINAL_CONFLICTS.isdisjoint(own)
            self._add_headers(response, ["X-Request-Id", *(replayed if is_stored else ())])
        found["responses"] = dict(sorted({**found["responses"], **rejections}.items()))
        return found

    def get_auth(self) -> list[dict[str, Any]]:
        if not self._permissions:
            return []
        names = [each.permission.value for each in self._permissions if each.permission is not None]
        return [{scheme: names} for scheme in SECURITY_SCHEMES]

    def get_override_parameters(self) -> list[Any]:
        common = list(super().get_override_parameters())
        if self._takes_idempotency_key:
            common.append(
                OpenApiParameter(
                    "Idempotency-Key",
                    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
                    OpenApiParameter.HEADER,
                    description=(
                        (
                            "A key of up to 255 characters, such as a UUID, that makes retries of this "
                            "call safe."
                        )
                        if self._is_replayed
                        else (
                            "Accepted, but without effect: the response of this call is never stored or "
                            "replayed."
                        )
                    ),
                )
            )
        return common

    def _who_may(self) -> str:
        if not self._permissions:
            return "Public: needs no credentials."
        names = [each.permission.value for each in self._permissions if each.permission is not None]
        if names:
            return f"Needs an API key with the permission `{names[0]}`."
        return "Needs any active API key."

    def _common_errors(self, found: Mapping[str, Any]) -> list[ErrorCode]:
        codes = list(errors.ANYWHERE)
        places = {parameter["in"] for parameter in found.get("parameters", ())}
        if self._permissions:
            codes += errors.CREDENTIALS
        if any(each.permission is not None for each in self._permissions):
            codes.append(ErrorCode.PERMISSION_DENIED)
        if "path" in places:
            codes.append(ErrorCode.RESOURCE_MISSING)
        if "query" in places:
            codes += [ErrorCode.PARAMETER_INVALID, ErrorCode.PARAMETER_UNKNOWN]
        if self.method in ("POST", "PUT", "PATCH"):
            codes += errors.BODY
            body = found.get("requestBody")
            codes += errors.PARAMETERS if body else [ErrorCode.PARAMETER_UNKNOWN]
        if self._is_replayed:
            codes += errors.IDEMPOTENCY
        elif self._takes_idempotency_key:
            codes.append(ErrorCode.IDEMPOTENCY_KEY_INVALID)
        return codes

    def _add_headers(self, response: dict[str, Any], names: Sequence[str]) -> None:
        references = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        response["headers"] = {**response.get("headers", {}), **references}

    def _is_list_view(self, serializer: Any = None) -> bool:  # noqa: ARG002 - the inspector's interface
        """Return False, so that drf-spectacular adds no list by itself: `list_of` and `ArrayOf` declare lists."""
        return False

    def _get_response_for_code(self, serializer: Any, *args: Any, **options: Any) -> dict[str, Any]:
        """Handle `ArrayOf`."""
        if isinstance(serializer, OpenApiResponse) and isinstance(serializer.response, ArrayOf):
            item = structs.reference_to(self, serializer.response.item)
            serializer = OpenApiResponse({"type": "array", "items": item}, serializer.description)
        found: dict[str, Any] = super()._get_response_for_code(serializer, *args, **options)  # type: ignore[no-untyped-call]
        return found

    def _map_serializer(self, serializer: Any, direction: str, bypass_extensions: bool = False) -> Any:
        """Add the examples, and `additionalProperties: false` for strict serializers."""
        found = super()._map_serializer(serializer, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        if isinstance(serializer, StrictSerializer) or (
            isinstance(serializer, type) and issubclass(serializer, StrictSerializer)
        ):
            found["additionalProperties"] = False
        optional = getattr(serializer, "schema_optional", ())
        if optional:
            found["required"] = [name for name in found["required"] if name not in optional]
        example = getattr(serializer, "schema_example", None)
        if example is not None:
            for name, value in example.items():
                if "$ref" not in found["properties"][name]:
                    found["properties"][name]["examples"] = [value]
            found["examples"] = [example]
        return found

    def _map_serializer_field(self, field: Any, direction: str, bypass_extensions: bool = False) -> Any:
        found = super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        if isinstance(field, serializers.IntegerField) and str(field.field_name).endswith("id"):
            found["format"] = "int64"
        return found


def only_what_answers(endpoints: list[Any], **_: Any) -> list[Any]:
    """Omit the sandbox's operations outside staging."""
    if settings.ENVIRONMENT == "staging":
        return endpoints
    return [endpoint for endpoint in endpoints if not endpoint[0].startswith(_SANDBOX)]


def complete(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Add the shared components and code samples, and simplify the schemas."""
    components = result["components"]
    schemas = {**components.get("schemas", {}), **errors.COMPONENTS}
    schemas.pop("Null", None)
    names = {tuple(schema["enum"]): name for name, schema in schemas.items() if "enum" in schema}
    calls = import_string(_WEBHOOKS)()
    tidied: dict[str, Any] = _tidied({**result, "webhooks": calls, "components": {}}, names)
    # Only an enumeration's own component lists the values. Other schemas refer to this component.
    described_here = {
        name: schema if "enum" in schema else _tidied(schema, names)
        for name, schema in sorted(schemas.items())
    }
    tidied["components"] = {
        "schemas": described_here,
        "responses": errors.shared(tidied["paths"]),
        "headers": HEADERS,
        "securitySchemes": SECURITY_SCHEMES,
    }
    add_samples(tidied)
    return tidied


def _tidied(node: Any, names: Mapping[tuple[str, ...], str]) -> Any:
    """Replace enumerations in `node` by references, and remove `readOnly`."""
    if isinstance(node, list):
        return [_tidied(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    if node == {"$ref": "#/components/schemas/Null"}:
        return {"type": "null"}
    if "enum" in node and set(node) <= {"type", "enum", "minLength"} and tuple(node["enum"]) in names:
        return {"$ref": f"#/components/schemas/{names[tuple(node['enum'])]}"}
    return {name: _tidied(value, names) for name, value in node.items() if name != "readOnly"}
