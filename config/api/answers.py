"""Response objects: one struct each gives the types, the JSON and the API's description.

A struct's fields are annotated with `doc`, which says what a field means. `described` (`config.api.schema.operations`)
names the struct in the description. Times are text (`timestamp`), so that a struct encodes without hooks.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from rest_framework.renderers import JSONRenderer


class Answer(msgspec.Struct, kw_only=True):
    """Base of all response objects. Fields are encoded in the order of their definition.

    msgspec does not inherit `kw_only`: each class repeats it.
    """


class Choices:
    """Marks a text as one of a few values: pairs of value and label, as Django's `choices`."""

    def __init__(self, choices: Sequence[tuple[str, Any]]) -> None:
        self.choices = list(choices)


def one_of(*values: str) -> Choices:
    """Return the mark of a text that is one of these."""
    return Choices([(value, value.capitalize()) for value in values])


def doc(description: str, **constraints: Any) -> msgspec.Meta:
    """Return what the API's description says of a field; constraints are msgspec's: `pattern`, `ge`, and so on."""
    return msgspec.Meta(description=description, **constraints)


Time = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""RFC 3339 in UTC, ending in Z."""
Uuid = Annotated[str, msgspec.Meta(extra_json_schema={"format": "uuid"})]
NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class ListPage(Answer, kw_only=True):
    """One page of a list; `list_of` (`config.api.schema.operations`) describes a list of one kind of object."""

    object: Annotated[Literal["list"], doc("Always `list`.")] = "list"
    url: Annotated[str, doc("The path of this list.")]
    has_more: Annotated[
        bool, doc("Whether there are more objects beyond this page, in the requested direction.")
    ]
    data: Annotated[list[Any], doc("The objects of this page, newest first.")]


def builtins(answer: Answer) -> dict[str, Any]:
    """Return the object as dictionaries, lists and plain values, for templates and for stored events."""
    plain: dict[str, Any] = msgspec.to_builtins(answer)
    return plain


class AnswerRenderer(JSONRenderer):
    """Renders response objects by their own encoder, and errors as Django REST framework does."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body's bytes."""
        if isinstance(data, Answer) or (isinstance(data, list) and data and isinstance(data[0], Answer)):
            return msgspec.json.encode(data)
        return super().render(data, accepted_media_type, renderer_context)
