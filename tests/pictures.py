"""Save pictures of the pages that tests open: `pytest --pictures FOLDER`.

Without the option, nothing is saved, and tests take no longer.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browsing import DESKTOP, PHONE

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

_WINDOWS: "dict[str, ViewportSize]" = {
    "desktop": {"width": DESKTOP["width"], "height": DESKTOP["height"]},
    "phone": {"width": PHONE["width"], "height": PHONE["height"]},
}
_IS_TOUCHED = "matchMedia('(pointer: coarse)').matches"
# Returns the page's current media settings.
_SETTINGS = """() => ({
  color_scheme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light",
  reduced_motion: matchMedia("(prefers-reduced-motion: reduce)").matches ? "reduce" : "no-preference",
})"""


class _Album:
    """The folder for pictures, and the current test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._test = Path()
        self._taken = 0
        self._named: set[str] = set()

    def turn_to(self, test: str) -> None:
        """Name the next pictures after this test, such as `wallets/paying/rejected-1`."""
        file, _, name = test.partition("::")
        parts = [part.removeprefix("test_") for part in Path(file).with_suffix("").parts[2:]]
        self._test = Path(*parts, _file_name(name.removeprefix("test_")))
        self._taken = 0

    def next(self, name: str | None) -> Path | None:
        """Return the next picture's path without window and colours, or None if a picture of this name is
        already saved.
        """
        if name in self._named:
            return None
        if name:
            self._named.add(name)
        self._taken += 1
        path = self._folder / (_file_name(name) if name else f"{self._test}-{self._taken}")
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def _file_name(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-")


_album: _Album | None = None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pictures", metavar="FOLDER", help="store pictures of the checkout's states in this folder"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Open the album in each test process."""
    global _album
    folder = config.getoption("--pictures")
    _album = _Album(Path(folder).absolute()) if folder else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Name the next pictures after the test that begins."""
    if _album:
        _album.turn_to(item.nodeid)


def picture(page: "Page", name: str | None = None) -> None:
    """Save pictures of the whole page: on a desktop and a phone, in light and dark colours.

    The file is named `name`, of which only one is saved, or else after the test and its order there.
    Afterwards, the window, the colours and the motion setting are as before.
    """
    path = _album.next(name) if _album else None
    if not path:
        return
    window, settings = page.viewport_size, page.evaluate(_SETTINGS)
    for place, size in _WINDOWS.items():
        page.set_viewport_size(size)
        for colours in ("light", "dark"):
            page.emulate_media(color_scheme=colours, reduced_motion="reduce")
            _shoot(page, f"{path}-{place}-{colours}.png", size)
    page.emulate_media(**settings)
    if window:
        page.set_viewport_size(window)


def _shoot(page: "Page", path: str, size: "ViewportSize") -> None:
    if not page.evaluate(_IS_TOUCHED):
        page.screenshot(path=path, full_page=True)
        return
    # For a picture of the whole page, the browser would enlarge the window. Then the page would no longer count as
    # touched. So enlarge the window here.
    whole = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({**size, "height": max(size["height"], whole)})
    page.screenshot(path=path)
    page.set_viewport_size(size)
