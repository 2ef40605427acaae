"""The pages' link targets exist, and their statements about settings and commands are true."""

import re
from pathlib import Path

import pytest

from config.environment import SettingsError
from config.environment.checking import check
from config.environment.declared import declared
from tests.support.docs.pages import ARCHITECTURE, PAGES, README, REPOSITORY, rows_by_code

DECISIONS = sorted((REPOSITORY / "docs" / "decisions").glob("*.md"))
SETTINGS = dict(
    line.split("=", 1)
    for line in (REPOSITORY / ".env.example").read_text().splitlines()
    if re.match(r"[A-Z_]+=", line)
)


def _named(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def test_each_function_that_the_walk_names_exists() -> None:
    text = ARCHITECTURE.read_text()
    named = re.findall(r"`(\w+)` in\s+`([\w./]+\.py)`", text)
    assert len(named) > 5
    for name, file in named:
        defined = re.search(
            rf"^(def|class) {name}\b|^{name} =", (REPOSITORY / file).read_text(), re.MULTILINE
        )
        assert defined, f"{name} in {file}"


@pytest.mark.parametrize("name", SETTINGS)
def test_each_setting_stands_in_the_table_with_its_default(name: str) -> None:
    default = rows_by_code(README)[name][-1]
    example = SETTINGS[name]
    if default == "required":
        return
    assert default == (f"`{example}`" if example else "none") or name == "ALLOWED_HOSTS"


def test_the_table_has_no_setting_that_is_not_there() -> None:
    in_table = {name for name in rows_by_code(README) if name.isupper()}
    assert in_table == set(SETTINGS)


def test_the_pages_name_the_settings_that_are_read() -> None:
    assert set(SETTINGS) == set(declared())


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_has_the_default_that_the_pages_name(name: str) -> None:
    default = declared()[name].default
    in_table = rows_by_code(README)[name][-1]
    assert in_table == {None: "required", "": "none"}.get(default, f"`{default}`")


def test_the_template_has_no_wrong_value() -> None:
    with pytest.raises(SettingsError) as error:
        check(SETTINGS)
    assert [fault.name for fault in error.value.faults] == ["SECRET_KEY", "ENCRYPTION_KEYS"]


def test_the_commands_that_the_pages_name_are_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"`?\bmake ([a-z-]+)`", page.read_text())) <= targets, page
    assert "make run" in README.read_text()
    assert "make test" in README.read_text()


@pytest.mark.parametrize("record", DECISIONS, ids=_named)
def test_a_decision_is_a_short_record(record: Path) -> None:
    lines = record.read_text().splitlines()
    assert lines[0].startswith(f"# {record.name[:4]}: ")
    assert [line for line in lines if line.startswith("## ")] == [
        "## Context",
        "## Decision",
        "## Consequences",
    ]
    assert len(lines) <= 25


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [record.name[:4] for record in DECISIONS] == [f"{n:04}" for n in range(1, len(DECISIONS) + 1)]


def test_pictures_are_small() -> None:
    for picture in (REPOSITORY / "docs" / "images").iterdir():
        assert picture.stat().st_size < 120_000, picture
