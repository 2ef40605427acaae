"""The page that says where to make changes names at most five places for each change."""

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
MAX_PLACES = 5


def paths(cell: str) -> list[str]:
    return [path for path in re.findall(r"`([\w./-]+)`", cell) if "/" in path or "." in path]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("*"))
def test_a_change_needs_at_most_five_places(row: list[str]) -> None:
    assert 1 <= len(paths(row[1])) <= MAX_PLACES


def test_the_page_says_the_retry_schedule_that_is_used() -> None:
    text = " ".join((REPOSITORY / "docs" / "api.md").read_text().split())
    assert schedule_text() in text
