"""A forgotten password is reset by e-mail.

The response doesn't reveal which accounts exist. The second factor stays.
"""

import re
from queue import Queue
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from merchants.models import AuditEntry
from tests.support.portal.phone import PASSWORD, enrolled
from tests.unit.merchants.sign_in.test_sign_in import sign_in

ASK = "/admin/password-reset/"
NEW = "another horse, another staple"
EMAIL = "olga@example.com"


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create_superuser("olga", EMAIL, PASSWORD)


@pytest.fixture
def mails(monkeypatch: Any) -> "Queue[tuple[str, str, str]]":
    sent: Queue[tuple[str, str, str]] = Queue()
    monkeypatch.setattr("merchants.sign_in.password_reset.mail.send", lambda *mail: sent.put(mail))
    return sent


def ask(client: Client, email: str = EMAIL, address: str = "192.0.2.1", **more: Any) -> Any:
    return client.post(ASK, {"email": email}, REMOTE_ADDR=address, **more)


def link_in(mail: tuple[str, str, str]) -> str:
    found = re.search(re.escape(settings.BASE_URL) + r"(/admin/password-reset/\S+/)", mail[2])
    assert found, mail
    return found[1]


def choose(client: Client, link: str, password: str = NEW) -> Any:
    page = client.get(link, follow=True)
    if not page.context["validlink"]:
        return page
    return client.post(page.request["PATH_INFO"], {"new_password1": password, "new_password2": password})


def events() -> list[tuple[str, str]]:
    return list(AuditEntry.objects.order_by("id").values_list("what", "subject"))


def test_reset_link_from_sign_in_page_sets_password_only_once(
    client: Client, olga: User, mails: "Queue[Any]"
) -> None:
    assert ASK in client.get("/admin/login/").content.decode()
    assert "If an account has this address" in ask(client, follow=True).content.decode()
    mail = mails.get(timeout=30)
    assert mail[0] == EMAIL
    link = link_in(mail)
    assert choose(client, link).status_code == 302
    assert sign_in(client, password=PASSWORD).status_code == 200
    assert sign_in(client, password=NEW).status_code == 302
    used = choose(Client(), link)
    assert "This link doesn’t work" in used.content.decode()
    assert events()[:2] == [("reset_requested", "olga"), ("password_reset", "olga")]
    assert link.split("/")[-2] not in str(list(AuditEntry.objects.values_list("detail", "subject")))


def test_reset_response_hides_accounts_and_mails_only_staff(
    client: Client, olga: User, mails: "Queue[Any]"
) -> None:
    User.objects.create_user("outsider", "outsider@example.com", PASSWORD)
    User.objects.create_user("gone", "gone@example.com", PASSWORD, is_staff=True, is_active=False)
    known = ask(client, follow=True)
    assert mails.get(timeout=30)[0] == EMAIL
    for email in ("no-account@example.com", "outsider@example.com", "gone@example.com"):
        other = ask(client, email, follow=True)
        assert (other.status_code, other.content, other.redirect_chain) == (
            known.status_code,
            known.content,
            known.redirect_chain,
        )
        assert events()[-1] == ("reset_requested", "an unknown address")
    ask(client)
    assert mails.get(timeout=30)[0] == EMAIL
    assert mails.empty()


def test_requests_are_limited_whether_or_not_there_is_an_account(
    client: Client, olga: User, mails: "Queue[Any]"
) -> None:
    for email in (EMAIL, "no-account@example.com"):
        for _ in range(5):
            assert ask(client, email).status_code == 302
        refused = ask(client, email)
        assert "Too many attempts. Try again in 15 minutes." in refused.content.decode()
        assert events()[-1] == ("reset_refused", "")
    assert len([mails.get(timeout=30) for _ in range(5)]) == 5
    assert mails.empty()


def test_a_weak_password_changes_nothing(client: Client, olga: User, mails: "Queue[Any]") -> None:
    ask(client)
    assert choose(client, link_in(mails.get(timeout=30)), "short").status_code == 200
    olga.refresh_from_db()
    assert olga.check_password(PASSWORD)


def test_a_link_ends_open_sessions_and_leaves_the_second_factor(
    client: Client, olga: User, mails: "Queue[Any]"
) -> None:
    open_session = Client()
    open_session.force_login(olga)
    assert open_session.get("/admin/").status_code == 200
    enrolled(olga)
    ask(client)
    assert choose(client, link_in(mails.get(timeout=30))).status_code == 302
    assert open_session.get("/admin/").status_code == 302
    assert sign_in(client, password=NEW)["Location"].startswith("/admin/sign-in/code/")
    assert client.get("/admin/").status_code == 302


def test_reset_link_uses_configured_host_not_the_host_header(
    client: Client, olga: User, mails: "Queue[Any]", settings: Any
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    ask(client, headers={"host": "mallory.example"})
    assert "mallory" not in mails.get(timeout=30)[2]
