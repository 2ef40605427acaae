"""Pictures of page states are taken in two window sizes and two colour schemes. They don't change the page."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import pictures

LOOKS = {f"{place}-{colours}" for place in ("desktop", "phone") for colours in ("light", "dark")}
NOW = "() => [innerWidth, innerHeight, matchMedia('(prefers-color-scheme: dark)').matches]"


@pytest.fixture
def album(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An album as `--pictures` opens it, during a test of this name."""
    opened = pictures._Album(tmp_path)
    opened.turn_to("tests/browser/wallets/test_paying.py::test_a_refusal[wrapped, deep]")
    monkeypatch.setattr(pictures, "_album", opened)
    return tmp_path


def test_picture_is_kept_in_each_look_of_the_page(browser: Browser, album: Path) -> None:
    context = browser.new_context(viewport={"width": 700, "height": 500}, color_scheme="dark")
    page = context.new_page()
    page.set_content("<h1>Paid</h1>")
    before = page.evaluate(NOW)
    pictures.picture(page)
    pictures.picture(page, "complete, paid late")
    assert page.evaluate(NOW) == before == [700, 500, True]
    context.close()
    kept = {str(file.relative_to(album)) for file in album.rglob("*.png")}
    named = {f"complete-paid-late-{look}.png" for look in LOOKS}
    assert kept == named | {f"wallets/paying/a_refusal-wrapped-deep-1-{look}.png" for look in LOOKS}


def test_page_is_untouched_without_the_pictures_option(
    browser: Browser, album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictures, "_album", None)
    page = browser.new_page()
    page.add_init_script("window.resized = 0; onresize = () => (resized += 1)")
    page.goto("about:blank")
    pictures.picture(page, "complete")
    assert page.evaluate("resized") == 0
    page.close()
    assert list(album.iterdir()) == []
