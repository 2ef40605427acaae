"""Each row about wallets, tokens and nodes links to a test that exists, unless the case is not handled."""

import pytest

from tests.support.docs.pages import REPOSITORY, table_rows, unknown_tests

ROWS = [row for row in table_rows(REPOSITORY / "docs" / "wallets.md") if not set(row[0]) <= {"-"}]
HANDLED = [row for row in ROWS if len(row) == 3 and row[-1] != "test"]


def test_rows_without_a_test_are_those_not_handled() -> None:
    assert len(HANDLED) > 100
    others = [row[0] for row in ROWS if len(row) != 3]
    assert others[0] == "behaviour"
    assert all(first.startswith("**") for first in others[1:])


@pytest.mark.parametrize("row", HANDLED, ids=lambda row: row[0][:60])
def test_row_names_tests_that_exist(row: list[str]) -> None:
    assert unknown_tests(row[-1]) == []
