"""An owner invites a colleague and changes the role. The colleague sets a password and a second factor."""

import re
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.core import mail
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from merchants.models import Merchant, StaffMembership
from merchants.staff.roles import Role, assign_role
from tests.browser.portal.conftest import fits
from tests.browser.windows import ON_BOTH
from tests.pictures import picture
from tests.support.portal.phone import PASSWORD, Phone, enrolled

NEW = "another horse, another staple"


@pytest.fixture
def owner(live_server: LiveServer, settings: Any, transactional_db: None) -> Phone:
    settings.ENVIRONMENT = "production"
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    user = User.objects.create_user("anna@harbour.example", "anna@harbour.example", PASSWORD)
    assign_role(user, Role.OWNER, Merchant.objects.create(name="Harbour Coffee"))
    return enrolled(user)[0]


def sign_in(page: Page, portal: str, phone: Phone) -> None:
    page.goto(portal)
    page.get_by_label("Username").fill("anna@harbour.example")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("textbox", name="Code").fill(phone.code())
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(portal)


def fresh(phone: Phone) -> str:
    User.objects.get(username="anna@harbour.example").authenticator_set.update(last_step=-1)
    return phone.code(steps=1)


@ON_BOTH
def test_invited_colleague_joins_and_gets_another_role(
    live_server: LiveServer, page: Page, browser: Browser, owner: Phone, troubles: list[str]
) -> None:
    portal = f"{live_server.url}/admin/"
    sign_in(page, portal, owner)
    page.goto(f"{portal}merchants/staffmembership/")
    assert fits(page)
    picture(page, "portal, team")
    page.get_by_role("link", name="Invite").click()
    page.get_by_label("Email").fill("bob@harbour.example")
    page.get_by_label("Finance: payments, refunds and exports").check()
    page.get_by_label("Code from your authenticator app").fill(fresh(owner))
    assert fits(page)
    picture(page, "portal, invite")
    page.get_by_role("button", name="Send the invitation").click()
    expect(page.get_by_text("The invitation to bob@harbour.example was sent.")).to_be_visible()
    assert fits(page)
    picture(page, "portal, invitations")

    found = re.search(r"https?://\S+(/admin/invitation/\S+)", str(mail.outbox[-1].body))
    assert found
    assert django_settings.BASE_URL in str(mail.outbox[-1].body)
    viewport = page.viewport_size
    theirs = browser.new_context(viewport=viewport).new_page()
    theirs.goto(f"{live_server.url}{found[1]}")
    picture(theirs, "portal, accept an invitation")
    theirs.locator("#id_password1").fill(NEW)
    theirs.locator("#id_password2").fill(NEW)
    theirs.get_by_role("button", name="Accept the invitation").click()
    theirs.get_by_text("Can’t scan it?").click()
    picture(theirs, "portal, second factor after an invitation")
    phone = Phone.scan(theirs.content())
    theirs.get_by_role("textbox", name="Code").fill(phone.code())
    theirs.get_by_role("button", name="Turn it on").click()
    theirs.get_by_role("link", name="I’ve saved them").click()
    theirs.wait_for_url(portal)
    assert fits(theirs)
    picture(theirs, "portal, dashboard of a new colleague")
    theirs.goto(f"{live_server.url}{found[1]}")
    expect(theirs.get_by_role("heading", name="This invitation doesn’t work")).to_be_visible()
    picture(theirs, "portal, used invitation")
    theirs.context.close()

    bob = StaffMembership.objects.get(user__username="bob@harbour.example")
    page.goto(f"{portal}merchants/staffmembership/{bob.pk}/change/")
    assert fits(page)
    picture(page, "portal, a member")
    if page.get_by_role("link", name="Change the role").is_hidden():
        page.get_by_text("more_horiz").first.click()
    page.get_by_role("link", name="Change the role").click()
    page.get_by_label("Viewer: sees payments").check()
    page.get_by_label("Code from your authenticator app").fill(fresh(owner))
    picture(page, "portal, change a role")
    page.get_by_role("button", name="Change the role").click()
    expect(page.get_by_text("bob@harbour.example has the role viewer now.")).to_be_visible()
    page.goto(f"{portal}merchants/auditentry/")
    expect(page.get_by_text("Finance of Harbour Coffee → Viewer of Harbour Coffee").first).to_be_visible()
    assert fits(page)
    picture(page, "portal, security log of an owner")
    assert troubles == []
