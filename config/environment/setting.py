"""The declaration of one setting."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, overload

from config.environment import values
from config.environment.wrong import Fault, Wrong, quoted

T = TypeVar("T")


class Parsed(Protocol):
    """An object with the parsed values by name."""

    parsed: dict[str, object]


class Setting(Generic[T]):
    """Declares a setting as an attribute of a class. On an instance of the class, the attribute is the parsed value.

    `default` is a text to parse, or None if the setting is required. `should_be` describes the format, and completes
    "it should be …". If the setting is secret, messages don't contain its value.
    """

    name: str

    def __init__(
        self,
        parse: Callable[[str], T],
        should_be: str,
        *,
        default: str | None = None,
        is_secret: bool = False,
    ) -> None:
        self._parse = parse
        self._should_be = should_be
        self.default = default
        self.is_secret = is_secret

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> "Setting[T]": ...
    @overload
    def __get__(self, instance: Parsed, owner: type) -> T: ...
    def __get__(self, instance: Parsed | None, owner: type) -> "Setting[T] | T":
        return self if instance is None else instance.parsed[self.name]  # type: ignore[return-value]

    def parse(self, text: str) -> T | Fault:
        """Parse `text`, or the default if `text` is empty. Return the value or the error."""
        text = text.strip() or self.default or ""
        if not text and self.default is None:
            return self.fault("is missing")
        try:
            values.reject_control_characters(text)
            return self._parse(text)
        except Wrong as wrong:
            return self._fault_with(wrong, text)

    def fault(self, problem: str, should_be: str | None = None) -> Fault:
        return Fault(self.name, problem, should_be or self._should_be)

    def _fault_with(self, wrong: Wrong, text: str) -> Fault:
        part = text if wrong.part is None else wrong.part
        # Even if the setting isn't secret, an operator may have put a URL with a password into it.
        if self.is_secret or "@" in text or "?" in text:
            return self.fault(wrong.problem)
        return self.fault(f"{quoted(part)} {wrong.problem}")


def switch(default: str) -> Setting[bool]:
    return Setting(values.boolean, "True or False", default=default)


def whole(minimum: int, maximum: int, unit: str, default: str) -> Setting[int]:
    """Declare a whole number of `unit` from `minimum` to `maximum`."""
    should_be = f"a whole number of {unit} from {minimum} to {maximum}"
    return Setting(values.whole(minimum, maximum), should_be, default=default)
