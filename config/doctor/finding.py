"""The result of one check of `manage.py doctor`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """A warning needs attention soon. A failure means that a part of the service is down, or that data may be lost."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True)
class Finding:
    """The result of a check in one sentence, with advice. Neither text contains a secret."""

    subject: str
    level: Level
    summary: str
    advice: str = ""


Check = Callable[[], Iterable[Finding]]


def fine(subject: str, summary: str) -> Finding:
    return Finding(subject, Level.OK, summary)


def warning(subject: str, summary: str, advice: str) -> Finding:
    return Finding(subject, Level.WARNING, summary, advice)


def failed(subject: str, summary: str, advice: str) -> Finding:
    return Finding(subject, Level.FAILED, summary, advice)


def by_limits(subject: str, value: float, limits: tuple[float, float], summary: str, advice: str) -> Finding:
    """Return a warning if the value is above the first limit, and a failure if it is above the second."""
    warning_limit, failure_limit = limits
    if value > failure_limit:
        return failed(subject, summary, advice)
    return warning(subject, summary, advice) if value > warning_limit else fine(subject, summary)
