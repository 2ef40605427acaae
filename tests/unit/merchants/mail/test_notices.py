"""Members choose their notices in the portal.

They unsubscribe with a link, or with a button of their mail program.
"""

import re

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client

from merchants.mail.notices import notify
from merchants.mail.sending import send_due
from merchants.mail.unsubscribing import unsubscribe_url
from merchants.models import AuditEntry, Mail, Merchant, NoticeKind, NoticeWatch, StaffMembership
from merchants.staff.roles import Role
from tests.support.portal.staff import Staff

pytestmark = pytest.mark.django_db
PAGE = "/admin/notices/"


@pytest.fixture
def owner(merchant: Merchant) -> Staff:
    return Staff("olga", Role.OWNER, merchant)


@pytest.fixture
def viewer(merchant: Merchant) -> Staff:
    return Staff("victor", Role.VIEWER, merchant)


def choose(staff: Staff, *kinds: str) -> None:
    assert staff.client.post(PAGE, {"notices": kinds}).status_code == 302


def chosen(staff: Staff) -> list[str] | None:
    return StaffMembership.objects.get(user=staff.user).notices


def mailed(merchant: Merchant, kind: NoticeKind = NoticeKind.ATTENTION, **more: bool) -> list[str]:
    """Return the recipients of a notice of this kind."""
    Mail.objects.all().delete()
    notify(merchant, kind, "News", "Something happened.\n", **more)
    return sorted(Mail.objects.values_list("recipient", flat=True))


def path_of(staff: Staff, kind: str) -> str:
    return "/notices/" + unsubscribe_url(staff.user.membership.pk, kind).rpartition("/")[2]


def test_each_member_gets_only_the_chosen_kinds(merchant: Merchant, owner: Staff, viewer: Staff) -> None:
    assert mailed(merchant) == []
    choose(owner, "attention", "endpoint")
    choose(viewer, "first_payment")
    assert mailed(merchant) == ["olga@example.com"]
    assert mailed(merchant, NoticeKind.FIRST_PAYMENT) == ["victor@example.com"]
    choose(owner)
    assert mailed(merchant) == []
    assert chosen(owner) is None


def test_unknown_kind_is_rejected_and_changes_nothing(owner: Staff) -> None:
    assert owner.client.post(PAGE, {"notices": ["attention", "lottery"]}).status_code == 200
    assert (chosen(owner), AuditEntry.objects.filter(what="notices_changed").exists()) == (None, False)


def test_other_merchants_members_get_nothing(
    merchant: Merchant, other_merchant: Merchant, owner: Staff
) -> None:
    choose(owner, "attention")
    assert mailed(other_merchant) == []


@pytest.mark.parametrize("change", [{"is_active": False}, {"email": ""}])
def test_member_without_account_or_address_gets_nothing(
    merchant: Merchant, owner: Staff, change: dict[str, object]
) -> None:
    choose(owner, "attention")
    User.objects.update(**change)
    assert mailed(merchant) == []


def test_merchants_own_address_is_told_once(merchant: Merchant, owner: Staff) -> None:
    Merchant.objects.update(email="OLGA@example.com")
    merchant.refresh_from_db()
    assert mailed(merchant, to_merchant=True) == ["OLGA@example.com"]
    choose(owner, "attention")
    assert mailed(merchant, to_merchant=True) == ["olga@example.com"]


def test_without_mail_server_no_notice_is_stored(
    merchant: Merchant, owner: Staff, settings: pytest.FixtureRequest
) -> None:
    choose(owner, "attention")
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"  # type: ignore[attr-defined]
    assert mailed(merchant) == []
    assert "sends no e-mail" in owner.client.get(PAGE).content.decode()


def test_removed_member_gets_no_waiting_notice(merchant: Merchant, owner: Staff) -> None:
    choose(owner, "attention")
    mailed(merchant)
    owner.user.membership.delete()
    assert send_due() == 0
    assert mail.outbox == []


def test_notices_about_payments_start_a_watch(merchant: Merchant, owner: Staff) -> None:
    choose(owner, "sign_in")
    assert not NoticeWatch.objects.exists()
    choose(owner, "sign_in", "attention")
    assert NoticeWatch.objects.get().merchant == merchant


def test_notice_has_one_click_headers_and_a_link(merchant: Merchant, owner: Staff) -> None:
    choose(owner, "attention")
    mailed(merchant)
    send_due()
    [letter] = mail.outbox
    [address] = re.findall(r"Unsubscribe: (\S+)", letter.body)
    assert letter.extra_headers["List-Unsubscribe"] == f"<{address}>"
    assert letter.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    answer = Client().post(
        "/notices/" + address.rpartition("/")[2],
        "List-Unsubscribe=One-Click",
        content_type="application/x-www-form-urlencoded",
    )
    assert (answer.status_code, chosen(owner)) == (200, None)


def test_unsubscribe_link_needs_its_button_to_take_effect(owner: Staff) -> None:
    choose(owner, "sign_in", "attention")
    path, stranger = path_of(owner, "sign_in"), Client(enforce_csrf_checks=True)
    page = stranger.get(path)
    assert page.status_code == 200
    assert "<button" in page.content.decode()
    assert stranger.head(path).status_code == 200
    assert chosen(owner) == ["attention", "sign_in"]
    assert stranger.post(path).status_code == 200
    assert stranger.post(path).status_code == 200
    assert chosen(owner) == ["attention"]


def test_unsubscribing_is_in_the_security_log_once(owner: Staff) -> None:
    choose(owner, "sign_in")
    for _ in range(2):
        Client().post(path_of(owner, "sign_in"))
    log = AuditEntry.objects.filter(what="notices_changed").order_by("id").values_list("subject", "detail")
    assert list(log) == [
        ("olga", "sign_in: on, in the portal"),
        ("olga", "sign_in: off, by the link in an e-mail"),
    ]


def test_changed_or_foreign_links_unsubscribe_nobody(owner: Staff, viewer: Staff) -> None:
    choose(owner, "sign_in")
    good = path_of(owner, "sign_in")
    for path in (good[:-1], good + "x", "/notices/anything", path_of(viewer, "lottery")):
        assert Client().post(path).status_code == 404, path
    assert Client().post(path_of(viewer, "sign_in")).status_code == 200
    assert chosen(owner) == ["sign_in"]


def test_unsubscribe_page_names_no_member(owner: Staff) -> None:
    choose(owner, "sign_in")
    page = Client().get(path_of(owner, "sign_in"))
    assert "olga" not in page.content.decode()
    assert "form-action 'self'" in page["Content-Security-Policy"]
    assert page["Cache-Control"] == "no-store"


def test_sign_in_is_told_to_the_member_who_wants_it(merchant: Merchant, owner: Staff, viewer: Staff) -> None:
    Mail.objects.all().delete()
    choose(owner, "sign_in")
    for staff in (owner, viewer):
        staff.client.logout()
        staff.user.authenticator_set.update(last_step=-1)
        staff.client.post(
            "/admin/login/", {"username": staff.user.username, "password": "correct horse battery staple"}
        )
        assert not Mail.objects.exists()  # a password alone is not a sign-in
    for staff in (owner, viewer):
        staff.client.post("/admin/sign-in/code/", {"code": staff.fresh_code()})
    letter = Mail.objects.get()
    assert (letter.recipient, letter.kind) == ("olga@example.com", "sign_in")
    assert "IP address: 127.0.0.1" in letter.text
