"""Read the project's own pages: their fenced samples, tables and links."""

import re
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
README = REPOSITORY / "README.md"
API = REPOSITORY / "docs" / "api.md"
ARCHITECTURE = REPOSITORY / "docs" / "architecture.md"
# The pages of this repository that people read.
PAGES = [
    README,
    REPOSITORY / "CHANGELOG.md",
    REPOSITORY / "CONTRIBUTING.md",
    REPOSITORY / "SECURITY.md",
    *sorted((REPOSITORY / "clients").glob("*/README.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]


def samples(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of `language` in `page`, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def sample_with(page: Path, language: str, words: str) -> str:
    """Return the only fenced block that contains `words`."""
    (found,) = [block for block in samples(page, language) if words in block]
    return found


def table_rows(page: Path) -> Iterator[list[str]]:
    """Yield the cells of each table row, including the headings."""
    for line in page.read_text().splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows_by_code(page: Path) -> dict[str, list[str]]:
    """Return the rows whose first cell is a `code`, by that code."""
    named = ((re.fullmatch(r"`([^`]+)`", row[0]), row) for row in table_rows(page))
    return {match[1]: row for match, row in named if match}


def unknown_tests(cell: str) -> list[str]:
    """Return the missing tests that a page's cell links to.

    Raises:
    ValueError: The cell links to no test, or to something else.
    """
    python = re.findall(r"\[`(\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", cell)
    script = re.findall(r"\[\"([^\]]+)\"\]\(\.\./(checkout/frontend/tests/[\w/-]+\.test\.ts)\)", cell)
    if not 0 < cell.count("](") == len(python) + len(script):
        raise ValueError(f"not only tests in {cell!r}")
    patterns = [(name, file, rf"^(async )?def {name}\(") for name, file in python]
    patterns += [(title, file, rf'[(]"{re.escape(title)}", ') for title, file in script]
    return [
        f"{name} in {file}"
        for name, file, pattern in patterns
        if not (path := REPOSITORY / file).exists() or not re.search(pattern, path.read_text(), re.MULTILINE)
    ]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: GitHub's for the headings, and its own (`<a id="…">`)."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set(re.findall(r'<a id="([^"]+)"></a>', text))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        repeated = 0
        while (anchor := f"{name}-{repeated}" if repeated else name) in found:
            repeated += 1
        found.add(anchor)
    return found
