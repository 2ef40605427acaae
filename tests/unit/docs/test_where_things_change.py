"""The page that says where things change names what exists, and at most five places for each change."""

import re

import pytest

from tests.support.docs.pages import REPOSITORY
from webhooks.dispatch.retry_schedule import schedule_text

PAGE = REPOSITORY / "docs" / "where-things-change.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| **")
]
MOST_PLACES = 5


def paths(cell: str) -> list[str]:
    return [path for path in re.findall(r"`([\w./-]+)`", cell) if "/" in path or "." in path]


def test_eleven_changes_are_described() -> None:
    assert len(ROWS) == 11


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("*"))
def test_a_change_needs_at_most_five_places_that_exist(row: list[str]) -> None:
    places = paths(row[1])
    assert 1 <= len(places) <= MOST_PLACES
    missing = [place for place in places if not (REPOSITORY / place.replace("NAME/", "")).exists()]
    assert missing == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("*"))
def test_its_proof_exists(row: list[str]) -> None:
    tests = [path for path in paths(row[2]) if path.startswith("tests/")]
    assert [path for path in tests if not (REPOSITORY / path).exists()] == []


def test_the_page_says_the_retry_schedule_that_is_used() -> None:
    text = " ".join((REPOSITORY / "docs" / "api.md").read_text().split())
    assert schedule_text() in text
