"""The API reference in a browser: a link opens its call, and each page fits on a phone."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from chains.models import Token
from tests.browsing import PHONE
from tests.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)


def test_link_to_a_call_opens_its_parameters_and_sample(
    page: Page, live_server: LiveServer, usdc: Token, troubles: list[str]
) -> None:
    page.goto(live_server.url + "/api/docs")
    call = page.locator('[id="operation/payment_requests.create"]')
    expect(call).to_be_hidden()
    page.get_by_role("navigation").get_by_role("link", name="Create a payment request").click()
    expect(call).to_be_in_viewport()
    expect(call.locator("pre:visible")).to_contain_text(f'"chain_id": {usdc.chain_id}')
    picture(page)
    call.get_by_text("Python", exact=True).click()
    expect(call.locator("pre:visible")).to_contain_text("client.payment_requests.create(")
    assert troubles == []


def test_phone_shows_every_open_call_without_side_scroll(page: Page, live_server: LiveServer) -> None:
    page.set_viewport_size(PHONE)
    page.goto(live_server.url + "/api/docs")
    picture(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
