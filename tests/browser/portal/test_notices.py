"""A member chooses email notices in the portal, and unsubscribes with one click on the page that a notice links to."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from merchants.mail.unsubscribing import unsubscribe_url
from merchants.models import Merchant, StaffMembership
from merchants.staff.roles import Role, assign_role
from tests.browser.portal.conftest import fits
from tests.browser.windows import ON_BOTH
from tests.pictures import picture


@pytest.fixture
def member(live_server: LiveServer, page: Page, settings: Any) -> StaffMembership:
    """A signed-in member."""
    files = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": files}}
    settings.BASE_URL = str(live_server.url)
    user = User.objects.create_user("anna", "anna@harbour.example")
    assign_role(user, Role.VIEWER, Merchant.objects.create(name="Harbour Coffee"))
    client = Client()
    client.force_login(user)
    session = client.cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": session, "url": f"{live_server.url}/admin"}])
    return StaffMembership.objects.get()


@ON_BOTH
def test_member_chooses_notices_and_unsubscribes_by_link(
    live_server: LiveServer, page: Page, member: StaffMembership, troubles: list[str]
) -> None:
    page.goto(f"{live_server.url}/admin/notices/")
    expect(page.get_by_text("Notices go to anna@harbour.example.")).to_be_visible()
    for kind in ("Payments that need attention", "Each sign-in to your account"):
        page.get_by_label(kind).check()
    assert fits(page)
    picture(page, "portal, notices")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your e-mail notices were saved.")).to_be_visible()
    expect(page.get_by_label("Each sign-in to your account")).to_be_checked()
    page.goto(unsubscribe_url(member.pk, "sign_in"))
    expect(
        page.get_by_text("You would get no more e-mails about: Each sign-in to your account.")
    ).to_be_visible()
    picture(page, "portal, unsubscribe")
    page.get_by_role("button", name="Unsubscribe").click()
    expect(page.get_by_role("heading", name="You are unsubscribed")).to_be_visible()
    assert fits(page)
    member.refresh_from_db()
    assert member.notices == ["attention"]
    assert troubles == []
