"""Errors in settings. Their messages never contain a secret."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

_LONGEST_QUOTE = 60


class Wrong(Exception):
    """An invalid value. `problem` is a predicate without the value: "is not a whole number".

    `part` is what the predicate is about, where that is less than the whole value; None for all of it.
    """

    def __init__(self, problem: str, part: str | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.part = part


@dataclass(frozen=True)
class Fault:
    """One invalid setting, as one line: the problem and the expected format."""

    name: str
    problem: str
    should_be: str

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}; it should be {self.should_be}"


class SettingsError(ImproperlyConfigured):
    """The settings are invalid. The message has one line per fault.

    Django's own exception, so that `manage.py help` and what else needs no settings goes on without them.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


def quoted(value: str) -> str:
    """Return the value of a setting that holds no secret, for a message: in one line, in ASCII, not too long."""
    return json.dumps(value if len(value) <= _LONGEST_QUOTE else value[:_LONGEST_QUOTE] + "...")
