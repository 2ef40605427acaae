"""Errors in settings, with messages that never contain a secret."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

_LONGEST_QUOTE = 60


class Wrong(Exception):
    """An invalid value.

    `problem` is the end of the message, such as "is not a whole number", and doesn't contain the value. `part` is the
    wrong part of the value, or None if the whole value is wrong.
    """

    def __init__(self, problem: str, part: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.part = part


@dataclass(frozen=True)
class Fault:
    """One invalid setting, as one line of text: the problem and the expected format."""

    name: str
    problem: str
    should_be: str

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}; it should be {self.should_be}"


class SettingsError(ImproperlyConfigured):
    """The settings are invalid. The message has one line per fault.

    Django's commands catch ImproperlyConfigured. So `manage.py help` works with invalid settings.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


def quoted(value: str) -> str:
    """Return a value for a message, shortened to one line of ASCII. The value must not be secret."""
    return json.dumps(value if len(value) <= _LONGEST_QUOTE else value[:_LONGEST_QUOTE] + "...")
