"""An operator sets up two-factor sign-in, signs in with a code, creates an API key (shown once), changes the theme."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from merchants.models import AllowedRecipient, Merchant
from tests.browser.windows import ON_PHONE
from tests.conftest import Api
from tests.pictures import picture
from tests.support.portal.phone import PASSWORD, Phone


@pytest.fixture
def portal(live_server: LiveServer, settings: Any) -> str:
    """The address of a portal that requires a second factor."""
    settings.ENVIRONMENT = "production"
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    User.objects.create_superuser("olga", password=PASSWORD)
    Merchant.objects.create(name="Harbour Coffee")
    return f"{live_server.url}/admin/"


def give_password(page: Page) -> None:
    page.get_by_label("Username").fill("olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def turn_on_second_factor(page: Page) -> Phone:
    """Sign in for the first time with the previous code, so that the current one remains unused."""
    give_password(page)
    page.get_by_text("Can’t scan it?").click()
    phone = Phone.scan(page.content())
    page.get_by_role("textbox", name="Code").fill(phone.code(steps=-1))
    page.get_by_role("button", name="Turn it on").click()
    expect(page.get_by_role("heading", name="Two-factor sign-in is on")).to_be_visible()
    return phone


def test_first_sign_in_leads_to_a_key_that_is_shown_once(
    portal: str, page: Page, troubles: list[str]
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=portal)
    page.goto(portal)
    give_password(page)

    expect(page.get_by_role("heading", name="Set up two-factor sign-in")).to_be_visible()
    page.get_by_text("Can’t scan it?").click()
    phone = Phone.scan(page.content())
    page.get_by_role("textbox", name="Code").fill(phone.code())
    page.get_by_role("button", name="Turn it on").click()
    expect(page.get_by_role("heading", name="Two-factor sign-in is on")).to_be_visible()
    page.get_by_role("button", name="Copy all").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert len(page.evaluate("navigator.clipboard.readText()").split()) == 10
    page.get_by_role("link", name="I’ve saved them").click()
    page.wait_for_url(portal)

    page.context.clear_cookies()
    page.goto(f"{portal}merchants/merchant/")
    give_password(page)
    page.get_by_role("textbox", name="Code").fill(phone.code(steps=1))
    page.get_by_role("button", name="Continue").click()

    page.get_by_role("link", name="Harbour Coffee", exact=True).click()
    page.goto(f"{portal}merchants/apikey/add/?merchant={page.url.split('/')[-3]}")
    page.locator("#id_name").fill("web shop")
    page.get_by_label("Create, cancel and retry payments").check()
    page.get_by_role("button", name="Issue the key").click()

    shown = page.locator("#api-key")
    key = (shown.text_content() or "").strip()
    page.get_by_role("button", name="Copy key").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == key
    assert Api(key).get("/api/payment-requests/01890000-0000-7000-8000-000000000000").status_code == 404

    assert key not in page.url
    page.reload()
    expect(page.locator("#id_name")).to_have_value("web shop")
    assert key not in page.content()
    page.go_back()
    page.goto(f"{portal}merchants/apikey/")
    expect(page.get_by_text(f"{key[:12]}…").first).to_be_visible()
    assert key not in page.content()
    assert troubles == []


@ON_PHONE
def test_allowed_recipients_are_changed_with_a_code(portal: str, page: Page, troubles: list[str]) -> None:
    evm, solana = "0x8ba1f109551bD432803012645Ac136ddd64DBA72", "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
    page.goto(portal)
    phone = turn_on_second_factor(page)
    merchant = Merchant.objects.get()
    AllowedRecipient.objects.create(merchant=merchant, chain_type="evm", address=evm)
    change = f"{portal}merchants/merchant/{merchant.pk}/change/"

    page.goto(change)
    expect(page.get_by_text(evm)).to_be_visible()
    page.get_by_role("link", name="Allow a recipient").click()
    expect(page.get_by_role("heading", name="Allow a recipient for Harbour Coffee")).to_be_visible()
    picture(page, "portal, allow a recipient")
    page.get_by_label("Wallet address").fill("alice.eth")
    page.get_by_label("Code from your authenticator app").fill(phone.code())
    page.get_by_role("button", name="Allow this wallet").click()
    expect(page.get_by_text("32 bytes in base58")).to_be_visible()
    picture(page, "portal, allow a recipient, refused")
    page.get_by_label("Wallet address").fill(solana)
    page.get_by_label("Code from your authenticator app").fill(phone.code())
    page.get_by_role("button", name="Allow this wallet").click()
    expect(page.get_by_text(f"{solana} is now an allowed recipient.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the message sticks out"
    picture(page, "portal, allowed recipients")

    page.get_by_role("link", name="Remove a recipient").click()
    expect(page.get_by_label(solana)).to_be_visible()
    picture(page, "portal, remove a recipient")
    page.get_by_label(evm).check()
    page.get_by_label("Code from your authenticator app").fill(phone.code(steps=1))
    page.get_by_role("button", name="Remove from the list").click()
    page.wait_for_url(change)
    assert [row.address for row in merchant.allowed_recipients.all()] == [solana]

    AllowedRecipient.objects.all().delete()
    page.goto(change)
    expect(page.get_by_text("Any wallet:")).to_be_visible()
    picture(page, "portal, no allowed recipient")
    assert troubles == []


def test_theme_preview_follows_the_form(portal: str, page: Page, troubles: list[str]) -> None:
    page.goto(portal)
    turn_on_second_factor(page)
    page.goto(f"{portal}merchants/merchant/add/")
    page.locator("#id_name").fill("Harbour")
    preview = page.get_by_role("group", name="How the checkout will look")
    expect(preview.get_by_text("Harbour", exact=True)).to_be_visible()
    page.get_by_label("Accent colour").fill("#c2410c")
    expect(preview.get_by_text("Pay 12.50 USDC")).to_have_css("background-color", "rgb(194, 65, 12)")
    expect(preview.get_by_text("Pay 12.50 USDC")).to_have_css("color", "rgb(255, 255, 255)")
    page.get_by_label("Accent colour").fill("#fde68a")
    expect(page.get_by_text("Too pale")).to_be_visible()
    page.get_by_label("Logo URL").fill("javascript:alert(1)")
    page.get_by_label("Logo URL").blur()
    expect(preview.locator("img")).to_be_hidden()
    assert preview.locator("img").get_attribute("src") is None
    assert troubles == []
