"""One real Chromium for all tests that ask for one: its driver can be started but once in a process."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Playwright

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
    from playwright.sync_api import Error

    try:
        shell = shutil.which("chromium-headless-shell")
        started = playwright.chromium.launch(executable_path=shell or _path(), args=list(QUIET))
    except Error as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Chromium here: install the chromium package, or run `make browser` ({error})")
    yield started
    started.close()


def launch_profile(playwright: "Playwright", folder: Path, **options: Any) -> "BrowserContext":
    """Start a browser of its own with the user's settings that stand in `folder`."""
    return playwright.chromium.launch_persistent_context(
        folder, executable_path=_path(), args=list(QUIET), **options
    )


def _path() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
