"""`manage.py doctor`: its output and exit codes. If one check fails to run, the others are still shown."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from config.doctor import disk
from config.doctor.finding import Finding, Level, failed, fine, warning
from config.doctor.running import run
from tests.processes import REPOSITORY
from tests.support.operations.findings import levels


def sound() -> Iterator[Finding]:
    yield fine("one", "works")


def doubtful() -> Iterator[Finding]:
    yield warning("two", "is slow", "Do this.")


def broken() -> Iterator[Finding]:
    yield failed("three", "is down", "Do that.")


def crashing() -> Iterator[Finding]:
    yield fine("four", "works")
    raise RuntimeError("with a secret in it")


HERE = __name__


def test_a_check_that_crashes_is_a_failure_and_hides_no_other() -> None:
    report = run({"a": f"{HERE}.crashing", "b": f"{HERE}.doubtful"})
    assert [each.level for each in report.findings["a"]] == [Level.FAILED]
    assert [each.level for each in report.findings["b"]] == [Level.WARNING]
    assert "secret" not in report.as_json()


def test_the_text_says_what_is_wrong_and_what_to_do() -> None:
    text = "\n".join(run({"a": f"{HERE}.broken", "b": f"{HERE}.sound"}).lines())
    assert "FAILED  three: is down" in text
    assert "-> Do that." in text
    assert "1 failed, 0 warnings." in text
    assert "0 failed, 1 warning." in "\n".join(run({"a": f"{HERE}.doubtful"}).lines())
    assert "Everything is in order." in "\n".join(run({"b": f"{HERE}.sound"}).lines())


@pytest.mark.parametrize(
    ("checks", "options", "code"),
    [
        (["sound"], [], None),
        (["sound", "doubtful"], [], None),
        (["sound", "doubtful"], ["--strict"], 1),
        (["sound", "broken"], [], 1),
    ],
)
def test_the_exit_code_says_whether_anything_failed(
    settings: Settings,
    checks: list[str],
    options: list[str],
    code: int | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings.DOCTOR_CHECKS = {each: f"{HERE}.{each}" for each in checks}
    returned = None
    try:
        call_command("doctor", "--json", *options)
    except CommandError as error:
        returned = error.returncode
    assert returned == code
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [each["check"] for each in findings] == checks


def test_only_runs_what_was_asked_for(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    settings.DOCTOR_CHECKS = {each: f"{HERE}.{each}" for each in ("sound", "broken")}
    call_command("doctor", "--only", "sound")
    assert "three" not in capsys.readouterr().out


def test_invalid_settings_are_findings_too() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=REPOSITORY,
        env={**os.environ, "BASE_URL": "not an address", "LOG_LEVEL": "LOUD"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    report = json.loads(done.stdout)
    assert report["status"] == "failed"
    assert {each["subject"] for each in report["findings"]} == {"BASE_URL", "LOG_LEVEL"}


def test_every_registered_check_can_be_imported(settings: Settings) -> None:
    from django.utils.module_loading import import_string

    assert all(callable(import_string(path)) for path in settings.DOCTOR_CHECKS.values())


def test_a_disk_without_space_is_named() -> None:
    assert set(levels(disk.check(low=0, full=0)).values()) == {"ok"}
    assert set(levels(disk.check(low=2**62, full=0)).values()) == {"warning"}
    assert set(levels(disk.check(low=2**62, full=2**62)).values()) == {"failed"}
