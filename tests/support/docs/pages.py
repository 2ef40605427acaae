"""Reading the project's own pages: their fenced samples, tables and links."""

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
README = REPOSITORY / "README.md"
API = REPOSITORY / "docs" / "api.md"
ARCHITECTURE = REPOSITORY / "docs" / "architecture.md"
# The pages that stand in this repository for people to read.
PAGES = [README, REPOSITORY / "CHANGELOG.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


def samples(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of `language` in `page`, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def sample_with(page: Path, language: str, words: str) -> str:
    """Return the one fenced block that holds `words`."""
    (found,) = [block for block in samples(page, language) if words in block]
    return found


def table_rows(page: Path) -> Iterator[list[str]]:
    """Yield the cells of each row of each table, headings included."""
    for line in page.read_text().splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows_by_code(page: Path) -> dict[str, list[str]]:
    """Return the rows whose first cell is one `code`, by that code."""
    named = ((re.fullmatch(r"`([^`]+)`", row[0]), row) for row in table_rows(page))
    return {match[1]: row for match, row in named if match}
