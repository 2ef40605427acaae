"""Read the findings of `manage.py doctor`."""

from collections.abc import Iterable

from config.doctor.finding import Finding, Level


def levels(findings: Iterable[Finding]) -> dict[str, str]:
    order = list(Level)
    worst: dict[str, Level] = {}
    for each in findings:
        worst[each.subject] = max(worst.get(each.subject, Level.OK), each.level, key=order.index)
    return {subject: level.value for subject, level in worst.items()}


def found(findings: Iterable[Finding], level: Level) -> list[str]:
    """Return the summaries of the findings at this level. Checks that each problem has advice."""
    bad = [each for each in findings if each.level is level]
    assert level is Level.OK or all(each.advice for each in bad), "a problem without what to do about it"
    return [f"{each.subject}: {each.summary}" for each in bad]
