"""Links between pages, and references from code to pages, have an existing target."""

import re
from pathlib import Path

import pytest

from tests.support.docs.pages import PAGES, REPOSITORY, anchors
from tests.wording import is_read, tracked_files


def _named(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


# References in code, templates and settings: `docs/binding.md`, `docs/binding.md#references`, `docs/decisions/0011`.
_REFERENCE = re.compile(r"(?<![\w/.-])docs/([\w./-]*\w)(#[\w-]+)?")
FILES = [path for path in tracked_files() if is_read(path) and not path.endswith(".md")]


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    for link in links:
        if re.match(r"https?://|mailto:", link):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), f"{_named(page)} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{_named(page)} links to {link}"


def test_references_from_code_lead_somewhere() -> None:
    broken = []
    for path in FILES:
        try:
            text = (REPOSITORY / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for match in _REFERENCE.finditer(text):
            target = REPOSITORY / "docs" / match[1]
            # A reference can name a decision by its number.
            found = [target] if target.exists() else list(target.parent.glob(f"{target.name}-*.md"))
            anchor = (match[2] or "").removeprefix("#")
            if not found or (anchor and anchor not in anchors(found[0])):
                broken.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}")
    assert broken == []
