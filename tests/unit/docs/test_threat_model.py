"""Each entry of the threat model links to a test that exists."""

import re

from tests.support.docs.pages import REPOSITORY, table_rows, unknown_tests

PAGE = REPOSITORY / "docs" / "threat-model.md"
# The first cell of an entry contains its anchor and its number.
_NUMBER = re.compile(r'<a id="threat-(\d+)"></a>(\d+)')
ENTRIES = [(match, row) for row in table_rows(PAGE) if (match := _NUMBER.fullmatch(row[0]))]


def test_the_entries_are_numbered_without_gaps() -> None:
    assert len(ENTRIES) > 70
    assert [int(match[2]) for match, _ in ENTRIES] == list(range(1, len(ENTRIES) + 1))
    assert all(match[1] == match[2] for match, _ in ENTRIES)


def test_each_entry_names_a_test_that_exists() -> None:
    missing = [(number[2], unknown) for number, row in ENTRIES for unknown in unknown_tests(row[-1])]
    assert missing == []
