"""One Chromium for all tests that use a browser. A process can start Playwright's driver only once."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, BrowserContext, Locator, Playwright

# Turn off Chromium's background requests. Tests don't need them, and offline they fill the log with errors.
QUIET = (
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
# The time limit for expectations about a page, in milliseconds. It is long, for machines under load.
PATIENCE = 60_000


@pytest.fixture(scope="session")
def playwright() -> "Iterator[Playwright]":
    from playwright.sync_api import expect, sync_playwright  # here: most tests need no browser

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: "Playwright") -> "Iterator[Browser]":
    """The system's Chromium, else Playwright's own. Without either, the test is skipped, but never in CI.

    The headless shell has the same engine. A desktop browser would also make windows, which cost five times as
    much as the page.
    """
    with _launched(playwright) as started:
        yield started


@pytest.fixture(scope="module")
def browser_without_scripts(playwright: "Playwright") -> "Iterator[Browser]":
    """A browser whose user has turned scripts off. It shows `noscript`, unlike with Playwright's own option."""
    with _launched(playwright, "--blink-settings=scriptEnabled=false") as started:
        yield started


@contextmanager
def _launched(playwright: "Playwright", *more: str) -> "Iterator[Browser]":
    from playwright.sync_api import Error

    try:
        shell = shutil.which("chromium-headless-shell")
        started = playwright.chromium.launch(executable_path=shell or _path(), args=[*QUIET, *more])
    except Error as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Chromium here: install the chromium package, or run `make browser` ({error})")
    try:
        yield started
    finally:
        started.close()


def launch_profile(playwright: "Playwright", folder: Path, **options: Any) -> "BrowserContext":
    """Start a separate browser that keeps the user's settings in `folder`."""
    return playwright.chromium.launch_persistent_context(
        folder, executable_path=_path(), args=list(QUIET), **options
    )


def _path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


# Returns the element's position once it is the same in two frames, or nothing if the element was removed.
_RESTING = """(element) => new Promise((resolve) => {
  const look = (before) => requestAnimationFrame(() => {
    if (!element.isConnected) return resolve(null);
    const { x, y, width, height } = element.getBoundingClientRect();
    const now = [x, y, width, height];
    if (width && height && `${now}` === `${before}`) resolve({ x, y, width, height });
    else look(now);
  });
  look([]);
})"""


def resting_box(part: "Locator") -> dict[str, float]:
    """Return the position of a part of the page in the window, once it no longer moves."""
    for _ in range(100):
        box: dict[str, float] | None = part.evaluate(_RESTING)
        if box is not None:
            return box
    raise AssertionError(f"{part} never rests")


def resting_picture(part: "Locator", picture: "Callable[[dict[str, float]], bytes]") -> bytes:
    """Take a picture of the part's box. Repeat if the part moved meanwhile."""
    for _ in range(20):
        box = resting_box(part)
        taken = picture(box)
        if resting_box(part) == box:
            return taken
    raise AssertionError(f"{part} never rests")
