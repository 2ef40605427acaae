"""What a developer meets in the local world: error pages as in production, and manage.py beside it."""

import subprocess
import sys

import pytest
import requests
from playwright.sync_api import Page, expect

from tests.browser.local_world.conftest import World
from tests.pictures import picture
from tests.processes import REPOSITORY
from tests.support.docs.pages import README, sample_with


@pytest.mark.parametrize("path", ["/nothing-there", "/pay/nothingthere"], ids=["page", "payment"])
def test_an_unknown_address_shows_the_page_that_production_shows(world: World, page: Page, path: str) -> None:
    answer = page.goto(world.api + path)
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for words in ("DEBUG", "URLconf", "Page not found (404)"):  # what Django's own page says
        expect(page.locator("body")).not_to_contain_text(words)
    picture(page)


def test_the_commands_of_the_readme_make_a_merchant_and_a_key_that_work(world: World) -> None:
    program = sample_with(README, "sh", "manage.py create_api_key")
    program = program.replace(".local/world/settings.sh", str(world.settings))
    program = program.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(
        ["bash", "-euc", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    _, key = done.stdout.split()
    answer = requests.get(f"{world.api}/api/payment-requests", headers={"X-API-Key": key}, timeout=10)
    assert (answer.status_code, answer.json()["data"]) == (200, [])


def test_the_settings_are_for_their_owners_eyes_only(world: World) -> None:
    assert world.settings.stat().st_mode & 0o077 == 0
