"""Each entry of the threat model names a test that exists."""

import re

from tests.support.docs.pages import REPOSITORY, table_rows

PAGE = REPOSITORY / "docs" / "threat-model.md"
ENTRIES = [row for row in table_rows(PAGE) if row[0].isdigit()]


def test_the_entries_are_numbered_without_gaps() -> None:
    assert [int(row[0]) for row in ENTRIES] == list(range(1, len(ENTRIES) + 1))


def test_each_entry_names_a_test_that_exists() -> None:
    missing = []
    for number, *_, last in ENTRIES:
        names = re.findall(r"`([\w/]+\.py)::(\w+)`", last)
        assert names, f"entry {number} names no test"
        for file, test in names:
            path = REPOSITORY / "tests" / file
            if not path.exists() or not re.search(rf"^(async )?def {test}\(", path.read_text(), re.MULTILINE):
                missing.append((number, file, test))
    assert missing == []
