"""Run the checks of `settings.DOCTOR_CHECKS`, and format their findings."""

import json
import logging
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass

from django.utils.module_loading import import_string

from config.doctor import database
from config.doctor.finding import Finding, Level, failed
from config.environment import SettingsError

logger = logging.getLogger(__name__)

_MARKS = {Level.OK: "ok", Level.WARNING: "WARNING", Level.FAILED: "FAILED"}
_WIDTH = 110


@dataclass(frozen=True)
class Report:
    findings: Mapping[str, Sequence[Finding]]

    def count(self, level: Level) -> int:
        return sum(each.level is level for findings in self.findings.values() for each in findings)

    def is_good(self, *, strict: bool = False) -> bool:
        """Return whether there is no failure. With `strict`, warnings count as failures."""
        return not self.count(Level.FAILED) and not (strict and self.count(Level.WARNING))

    def as_json(self) -> str:
        worst = Level.FAILED if self.count(Level.FAILED) else Level.WARNING
        status = worst if self.count(worst) else Level.OK
        found = [
            {"check": name, **asdict(each)} for name, findings in self.findings.items() for each in findings
        ]
        return json.dumps({"status": status, "findings": found}, indent=2)

    def lines(self) -> Iterator[str]:
        for name, findings in self.findings.items():
            yield f"{name}:"
            for each in findings:
                yield from _wrapped(f"{_MARKS[each.level]:>9}  ", f"{each.subject}: {each.summary}")
                if each.advice:
                    yield from _wrapped(" " * 11 + "-> ", each.advice)
        yield ""
        bad, doubtful = self.count(Level.FAILED), self.count(Level.WARNING)
        warnings = f"{doubtful} warning" + "s" * (doubtful != 1)
        yield f"{bad} failed, {warnings}." if bad or doubtful else "Everything is in order."


def run(checks: Mapping[str, str]) -> Report:
    """Run the checks in order. `checks` maps a name to the import path of a function."""
    findings: dict[str, Sequence[Finding]] = {}
    with ExitStack() as stack:
        for name, path in checks.items():
            findings[name] = tuple(_run(path))
            if database.is_down(findings[name]):
                stack.enter_context(database.no_waiting())
    return Report(findings)


def of_settings(error: SettingsError) -> Report:
    """Return the report on invalid settings. No check can run with invalid settings."""
    return Report(
        {
            "settings": [
                failed(each.name, each.problem, f"It should be {each.should_be}.") for each in error.faults
            ]
        }
    )


def _run(path: str) -> Iterable[Finding]:
    try:
        return list(import_string(path)())
    except Exception as error:  # an error in one check must not hide the findings of others
        logger.debug("%s failed", path, exc_info=True)
        reason = f"the check could not run ({type(error).__name__})"
        return [failed("check", reason, "Fix the failures above first, then run doctor again.")]


def _wrapped(mark: str, text: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=mark,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
