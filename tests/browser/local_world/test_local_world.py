"""The local world shows the same error pages as production, and manage.py works while it runs."""

import subprocess
import sys

import requests
from playwright.sync_api import Page, expect

from tests.browser.local_world.conftest import World
from tests.pictures import picture
from tests.processes import REPOSITORY
from tests.support.docs.pages import README, sample_with


def test_unknown_addresses_show_the_pages_of_production(world: World, page: Page) -> None:
    for path in ("/nothing-there", "/pay/nothingthere"):
        response = page.goto(world.api + path)
        assert response is not None
        assert response.status == 404
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for words in ("DEBUG", "URLconf", "Page not found (404)"):  # parts of Django's debug page
            expect(page.locator("body")).not_to_contain_text(words)
        picture(page)


def test_readme_commands_create_a_merchant_with_a_key(world: World) -> None:
    program = sample_with(README, "sh", "manage.py create_api_key")
    program = program.replace(".local/world/settings.sh", str(world.settings))
    program = program.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(
        ["bash", "-euc", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    _, key = done.stdout.split()
    response = requests.get(f"{world.api}/api/payment-requests", headers={"X-API-Key": key}, timeout=10)
    assert (response.status_code, response.json()["data"]) == (200, [])


def test_settings_are_readable_by_their_owner_only(world: World) -> None:
    assert world.settings.stat().st_mode & 0o077 == 0
