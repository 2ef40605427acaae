"""One real Chromium for all tests that ask for one: its driver can be started but once in a process."""

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

# Chromium's own background traffic is of no use here, and offline it only fills the log.
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
# How long a page may take to show what a test expects, in milliseconds: a machine under load is slow, not wrong.
PATIENCE = 30_000


@pytest.fixture(scope="session")
def playwright() -> "Iterator[Playwright]":
    from playwright.sync_api import expect, sync_playwright  # here, since most tests need no browser

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: "Playwright") -> "Iterator[Browser]":
    """The system's Chromium if there is one, else Playwright's own; skipped without either, never in CI.

    Its headless shell is the same engine without the windows of a desktop's browser around each page, which cost five
    times as much as the page.
    """
    with _launched(playwright) as started:
        yield started


@pytest.fixture(scope="module")
def browser_without_scripts(playwright: "Playwright") -> "Iterator[Browser]":
    """A browser whose user has switched scripts off: it shows `noscript`, which Playwright's own switch does not."""
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
    """Start a browser of its own with the user's settings in `folder`."""
    return playwright.chromium.launch_persistent_context(
        folder, executable_path=_path(), args=list(QUIET), **options
    )


def _path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


# Where an element is once it has been there for two frames; nothing where it was taken away meanwhile.
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
    """Return where a part of the page is in the window, once it rests there, however often it is redrawn before."""
    for _ in range(100):
        box: dict[str, float] | None = part.evaluate(_RESTING)
        if box is not None:
            return box
    raise AssertionError(f"{part} never rests")


def resting_picture(part: "Locator", picture: "Callable[[dict[str, float]], bytes]") -> bytes:
    """Return the picture that is taken of a box while the part rests there before and after."""
    for _ in range(20):
        box = resting_box(part)
        taken = picture(box)
        if resting_box(part) == box:
            return taken
    raise AssertionError(f"{part} never rests")
