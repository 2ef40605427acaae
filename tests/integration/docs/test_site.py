"""`make docs` builds a site without dead links. The site loads nothing from other hosts and covers the whole API."""

import json
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.support.docs.pages import REPOSITORY
from tests.support.docs.site import build, built
from tests.unit.config.api.schema.test_openapi import OPERATIONS, SCHEMA

BASE_URL = SCHEMA["servers"][0]["url"]


@pytest.fixture(scope="module")
def site() -> Path:
    return built()


class _Loaded(HTMLParser):
    """Collects the URLs that a browser loads with a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "link" and given.get("rel") not in ("stylesheet", "icon", "preload", "preconnect"):
            return
        if tag in ("link", "script", "img", "iframe", "source", "video"):
            self.addresses.append(given.get("href" if tag == "link" else "src") or "")


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        loaded = _Loaded(page.read_text()).addresses
        assert loaded
        assert [each for each in loaded if re.match(r"(https?:)?//", each)] == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import\s*)['\"]?(https?:)?//", style.read_text()), style


def test_diagrams_are_drawn_by_a_script_of_the_site(site: Path) -> None:
    (bundle,) = (site / "assets" / "javascripts").glob("bundle.*.min.js")
    assert "unpkg.com/mermaid" not in bundle.read_text()
    assert (site / "assets" / "javascripts" / "mermaid.min.js").stat().st_size > 1_000_000


def test_each_call_of_the_api_has_its_samples_in_three_languages(site: Path) -> None:
    text = {page: page.read_text() for page in (site / "reference").rglob("*.html")}
    for name, (path, method, operation) in OPERATIONS.items():
        anchor = name.replace(".", "-").replace("_", "-")
        (page,) = [text for text in text.values() if f'<h2 id="{anchor}">' in text]
        own = page.split(f'<h2 id="{anchor}">')[1].split("<h2 ")[0]
        assert f"{method.upper()} {path}" in unescape(own)
        assert [each["label"] for each in operation["x-codeSamples"]] == ["curl", "Python", "TypeScript"]
        shown = " ".join(unescape(re.sub(r"<[^>]+>", "", own)).split())
        for sample in operation["x-codeSamples"]:
            source = sample["source"].replace(BASE_URL, "https://pay.example.com")
            assert " ".join(source.split()) in shown, (name, sample["label"])


def test_search_covers_pages_readme_and_reference(site: Path) -> None:
    found = {
        each["location"] for each in json.loads((site / "search" / "search_index.json").read_text())["docs"]
    }
    assert {"first-payment/", "deployment/", "reference/errors/", "decisions/", "contributing/"} <= found


def test_a_link_or_an_anchor_that_leads_nowhere_stops_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(REPOSITORY / "docs", docs)
    page = docs / "concepts.md"
    page.write_text(page.read_text() + "\n[one](api.md#no-such-heading) [two](no-such-page.md)\n")
    done = build(tmp_path / "site", docs)
    assert done.returncode == 1
    assert "api.md#no-such-heading" in done.stdout + done.stderr
    assert "no-such-page.md" in done.stdout + done.stderr
