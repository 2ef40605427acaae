"""`make audit` reports known vulnerabilities. If it can't reach a database, it doesn't report a clean result."""

import json

import pytest

from audit.__main__ import NPM_FOLDERS, REPOSITORY, REQUIREMENTS, npm_result, python_result
from tests.wording import tracked_files

CLEAN = {"name": "django", "version": "5.2.1", "vulns": []}
BAD = {
    "name": "jinja2",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["3.1.9"], "aliases": [], "description": ""}],
}
SKIPPED = {"name": "celery", "skip_reason": "Dependency not found on PyPI and could not be audited"}


def _python(*packages: object) -> int:
    return python_result("requirements.txt", json.dumps({"dependencies": packages, "fixes": []}), "")


def test_clean_packages_are_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert _python(CLEAN) == 0
    assert "nothing is known against 1 packages" in capsys.readouterr().out


def test_a_vulnerable_package_is_named_with_its_fix(capsys: pytest.CaptureFixture[str]) -> None:
    assert _python(CLEAN, BAD, SKIPPED) == 1
    assert "jinja2 2.0: PYSEC-2026-1, fixed in 3.1.9" in capsys.readouterr().out


def test_packages_that_were_not_looked_up_are_no_clean_result(capsys: pytest.CaptureFixture[str]) -> None:
    assert _python(CLEAN, SKIPPED) == 2
    assert "can't be reached" in capsys.readouterr().out


@pytest.mark.parametrize("output", ["", "Traceback", "[]", "{}"])
def test_no_report_is_no_clean_result(output: str) -> None:
    assert python_result("requirements.txt", output if output != "[]" else "{}", "no route to host") == 2
    assert npm_result("website", output, "no route to host") == 2


def test_the_report_of_npm_is_read_likewise(capsys: pytest.CaptureFixture[str]) -> None:
    counted = {"metadata": {"dependencies": {"total": 12}}}
    assert npm_result("website", json.dumps({"vulnerabilities": {}, **counted}), "") == 0
    problem = {"left-pad": {"severity": "high", "fixAvailable": True}}
    assert npm_result("website", json.dumps({"vulnerabilities": problem, **counted}), "") == 1
    assert "left-pad (high)" in capsys.readouterr().out


def test_an_error_of_the_registry_is_no_clean_result() -> None:
    error = {"message": "405 Method Not Allowed", "error": {"summary": "", "detail": ""}}
    assert npm_result("website", json.dumps(error), "") == 2


def test_each_lock_file_is_asked_about() -> None:
    tracked = tracked_files()
    assert {f"{folder}/package-lock.json" for folder in NPM_FOLDERS} == {
        path for path in tracked if path.endswith("package-lock.json")
    }
    assert all((REPOSITORY / name).exists() for name in REQUIREMENTS)
