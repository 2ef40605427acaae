"""Response objects.

One msgspec struct defines an object's Python types, its JSON and its description in the API reference.

`doc` describes a field. The decorator `described` (`config.api.schema.operations`) sets the struct's name in the
OpenAPI document. Times are strings (`timestamp`).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from rest_framework.renderers import JSONRenderer


class Answer(msgspec.Struct, kw_only=True):
    """Base of all response objects. Each subclass repeats `kw_only`, because msgspec does not inherit it."""


class Choices:
    """Annotation for a text field with a fixed set of values. Each choice is a value and a label, as in Django."""

    def __init__(self, choices: Sequence[tuple[str, Any]]) -> None:
        self.choices = list(choices)


def one_of(*values: str) -> Choices:
    return Choices([(value, value.capitalize()) for value in values])


def doc(description: str, **constraints: Any) -> msgspec.Meta:
    """Describe a field in the OpenAPI document. Constraints have msgspec's names, such as `pattern` and `ge`."""
    return msgspec.Meta(description=description, **constraints)


Time = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""RFC 3339 in UTC, ending in Z."""
Uuid = Annotated[str, msgspec.Meta(extra_json_schema={"format": "uuid"})]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class ListPage(Answer, kw_only=True):
    """One page of a list. `list_of` (`config.api.schema.operations`) describes it for one kind of object."""

    object: Annotated[Literal["list"], doc("Always `list`.")] = "list"
    url: Annotated[str, doc("The path of this list.")]
    has_more: Annotated[bool, doc("Whether another page follows in the requested direction.")]
    data: Annotated[list[Any], doc("The objects on this page, newest first.")]


def builtins(answer: Answer) -> dict[str, Any]:
    """Return the object as dictionaries, lists and plain values. Templates and stored events need these."""
    plain: dict[str, Any] = msgspec.to_builtins(answer)
    return plain


class AnswerRenderer(JSONRenderer):
    """Encode response objects with msgspec, and errors with Django REST framework."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> Any:
        if isinstance(data, Answer) or (isinstance(data, list) and data and isinstance(data[0], Answer)):
            return msgspec.json.encode(data)
        return super().render(data, accepted_media_type, renderer_context)
