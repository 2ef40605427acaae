"""In the portal, an owner changes the theme and the webhook endpoint, and reveals the secret with a sign-in code."""

from typing import Any

from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from chains.models import Switch
from merchants.models import Merchant
from payments.models import Payment
from tests.browser.portal.conftest import fits
from tests.browser.portal.test_payments import payment
from tests.browser.portal.test_team import fresh, owner, sign_in
from tests.browser.windows import ON_BOTH
from tests.pictures import picture
from tests.support.portal.phone import Phone
from webhooks.endpoints.secrets_at_rest import decrypt
from webhooks.models import Endpoint

__all__ = ["owner", "payment"]


def choose(page: Page, label: str) -> None:
    """Click one of the page's actions. On a phone, they are in a menu."""
    if page.get_by_role("link", name=label).is_hidden():
        page.get_by_text("more_horiz").first.click()
    page.get_by_role("link", name=label).click()


@ON_BOTH
def test_owner_changes_look_and_webhooks(
    live_server: LiveServer, page: Page, owner: Phone, settings: Any, troubles: list[str]
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = True
    portal = f"{live_server.url}/admin/"
    sign_in(page, portal, owner)
    merchant = Merchant.objects.get()
    page.goto(f"{portal}merchants/merchant/{merchant.pk}/change/")
    page.get_by_label("Display name").fill("Harbour Coffee Roasters")
    assert fits(page)
    picture(page, "portal, own settings")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was changed successfully").first).to_be_visible()

    page.goto(f"{portal}webhooks/endpoint/")
    page.get_by_role("link", name="Set up the endpoint").click()
    page.get_by_label("URL").fill("https://shop.example.com/hook")
    assert fits(page)
    picture(page, "portal, set up an endpoint")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The webhook endpoint was saved.")).to_be_visible()
    assert fits(page)
    picture(page, "portal, own endpoint")
    choose(page, "Send a test")
    picture(page, "portal, send a test event")
    page.go_back()
    choose(page, "Reveal the secret")
    page.get_by_label("Code from your authenticator app").fill(fresh(owner))
    page.get_by_role("button", name="Reveal the secret").click()
    expect(page.get_by_text(decrypt(Endpoint.objects.get().secret_encrypted))).to_be_visible()
    assert fits(page)
    picture(page, "portal, revealed secret")
    page.goto(f"{portal}merchants/auditentry/")
    assert fits(page)
    picture(page, "portal, security log after changes")
    assert troubles == []


@ON_BOTH
def test_operator_sees_all_kill_switches(
    payment: Payment, portal: str, page: Page, troubles: list[str]
) -> None:
    Switch.objects.create(name="swaps", actor="olga", reason="The provider returns wrong amounts since noon")
    page.goto(f"{portal}chains/switch/")
    expect(page.get_by_role("link", name="Switch on: Payments with other tokens (swaps)")).to_be_visible()
    expect(page.get_by_role("link", name=f"Switch off: {payment.chain.name}")).to_be_visible()
    assert fits(page)
    picture(page, "portal, kill switches")
    assert troubles == []
