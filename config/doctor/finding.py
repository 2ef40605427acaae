"""The result of one check of `manage.py doctor`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is. A warning needs attention soon; a failure stops a part of the service, or could lose data."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    """What a check found, in one sentence, and what to do about it. Neither contains a secret."""

    subject: str
    level: Level
    summary: str
    advice: str = ""


Check = Callable[[], Iterable[Finding]]


def fine(subject: str, summary: str) -> Finding:
    """Return a finding that needs nothing done."""
    return Finding(subject, Level.OK, summary)


def warning(subject: str, summary: str, advice: str) -> Finding:
    """Return a finding that needs attention soon."""
    return Finding(subject, Level.WARNING, summary, advice)


def failed(subject: str, summary: str, advice: str) -> Finding:
    """Return a finding that stops a part of the service."""
    return Finding(subject, Level.FAILED, summary, advice)


def by_limits(subject: str, value: float, limits: tuple[float, float], summary: str, advice: str) -> Finding:
    """Return the finding for a value that should be small: a warning above the first limit, failed above the second."""
    most, far_too_much = limits
    if value > far_too_much:
        return failed(subject, summary, advice)
    return warning(subject, summary, advice) if value > most else fine(subject, summary)
