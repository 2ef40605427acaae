"""Sign-in is rate-limited and logged, doesn't reveal which accounts exist, and its sessions expire."""

import re
import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from merchants.models import ApiKey, AuditEntry, SignInAttempt
from merchants.sign_in import throttle
from tests.support.portal.phone import PASSWORD
from tests.threads import at_once
from tests.unit.merchants.admin.test_key_shown_once import everything_stored

LOGIN = "/admin/login/"


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create_superuser("olga", password=PASSWORD)


def sign_in(
    client: Client, name: str = "olga", password: str = PASSWORD, address: str = "192.0.2.1", **more: Any
) -> Any:
    return client.post(LOGIN, {"username": name, "password": password, **more}, REMOTE_ADDR=address)


def is_in(client: Client) -> bool:
    return bool(client.get("/admin/").status_code == 200)


def told(response: Any) -> str:
    """Return the page without the parts that always differ: the form's token, and the typed name."""
    page = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", response.content.decode())
    return re.sub(r'value="[^"]*"', "", page)


def test_a_wrong_password_and_no_such_account_look_the_same(client: Client, olga: User) -> None:
    User.objects.create_user("outsider", password=PASSWORD)
    User.objects.create_user("gone", password=PASSWORD, is_staff=True, is_active=False)
    wrong = sign_in(client, "olga", "not the password")
    assert "Incorrect user name or password" in wrong.content.decode()
    for name, password in (("nobody", "not the password"), ("outsider", PASSWORD), ("gone", PASSWORD)):
        other = sign_in(client, name, password)
        assert (other.status_code, told(other)) == (wrong.status_code, told(wrong))
    assert not is_in(client)


def test_after_five_wrong_passwords_the_right_one_is_refused_too(client: Client, olga: User) -> None:
    for _ in range(5):
        sign_in(client, password="guess")
    refused = sign_in(client)
    assert "Too many attempts" in refused.content.decode()
    assert not is_in(client)
    for _ in range(5):
        sign_in(client, "nobody", "guess")
    assert told(sign_in(client, "nobody")) == told(refused), (
        "whether there is such an account makes no difference"
    )


def test_a_stranger_does_not_lock_the_owner_out(client: Client, olga: User) -> None:
    for _ in range(20):
        sign_in(client, password="guess", address="198.51.100.9")
    sign_in(client, address="192.0.2.1")
    assert is_in(client)


def test_one_account_is_not_guessed_at_from_many_addresses(client: Client, olga: User) -> None:
    for number in range(throttle.TO_ONE_ACCOUNT):
        sign_in(client, password="guess", address=f"198.51.100.{number}")
    assert "Too many attempts" in sign_in(client, address="203.0.113.5").content.decode()


def test_many_accounts_are_not_guessed_at_from_one_address(client: Client, olga: User) -> None:
    for number in range(throttle.FROM_ONE_ADDRESS):
        sign_in(client, f"user{number}", "guess")
    assert "Too many attempts" in sign_in(client).content.decode()
    sign_in(client, address="192.0.2.2")
    assert is_in(client)


def test_the_limit_passes_and_a_right_password_clears_it(
    client: Client, olga: User, monkeypatch: Any
) -> None:
    for _ in range(4):
        sign_in(client, password="guess")
    sign_in(client)
    assert is_in(client)
    assert not SignInAttempt.objects.exists()
    for _ in range(6):
        sign_in(Client(), password="guess")
    monkeypatch.setattr("merchants.sign_in.throttle.timezone.now", lambda: _later())
    later = Client()
    sign_in(later)
    assert is_in(later)


def _later() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC) + throttle.WINDOW * 2


@pytest.mark.django_db(transaction=True)
def test_at_most_five_of_forty_concurrent_attempts_pass() -> None:
    allowed = at_once([lambda: throttle.may_try("olga", "192.0.2.1")] * 40)
    assert len(allowed) == 40
    assert allowed.count(True) <= 5


def test_without_redis_one_signs_in_is_limited_and_issues_keys(
    client: Client, olga: User, settings: Any, key_form: Any
) -> None:
    form = key_form()
    settings.CACHES = {
        "default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"},
    }
    with pytest.raises(Exception, match=r"Error|refused"):
        cache.get("anything")
    sign_in(client)
    assert is_in(client)
    assert client.post("/admin/merchants/apikey/add/", form).status_code == 200
    assert client.post("/admin/merchants/apikey/add/", form).status_code == 302
    assert ApiKey.objects.count() == 1
    for _ in range(6):
        answer = sign_in(Client(), "nobody", "guess")
    assert "Too many attempts" in answer.content.decode()


def test_sign_in_starts_new_session_with_portal_only_cookie(
    client: Client, olga: User, settings: Any
) -> None:
    settings.SESSION_COOKIE_SECURE = True
    session = client.session
    session["planted"] = "by somebody"
    session.save()
    planted = session.session_key
    client.cookies[settings.SESSION_COOKIE_NAME] = planted
    answer = sign_in(client)
    cookie = answer.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie.value != planted
    assert (cookie["path"], cookie["samesite"], cookie["httponly"], cookie["secure"], cookie["max-age"]) == (
        "/admin",
        "Lax",
        True,
        True,
        "",
    )


@pytest.mark.parametrize(("mark", "seconds"), [("seen", "idle"), ("began", "life")])
def test_a_session_ends_when_it_was_idle_or_lived_too_long(
    client: Client, olga: User, settings: Any, mark: str, seconds: str
) -> None:
    limit = settings.SESSION_IDLE_SECONDS if seconds == "idle" else settings.SESSION_COOKIE_AGE
    sign_in(client)
    for age, stays in ((limit - 30, True), (limit + 5, False)):
        session = client.session
        session.update({"seen": int(time.time()), mark: int(time.time()) - age})
        session.save()
        assert is_in(client) is stays


def test_a_new_password_ends_the_other_sessions(client: Client, olga: User) -> None:
    other = Client()
    for one in (client, other):
        sign_in(one)
    new = "another staple of horses"
    client.post(
        "/admin/password_change/", {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    )
    assert is_in(client)
    assert not is_in(other)
    change = AuditEntry.objects.get(what="password_changed")
    assert (change.actor, change.subject) == ("olga", "olga")


def test_a_user_who_is_switched_off_is_out(client: Client, olga: User) -> None:
    sign_in(client)
    User.objects.filter(pk=olga.pk).update(is_active=False)
    assert not is_in(client)


def test_sign_in_events_are_logged_without_secrets(client: Client, olga: User) -> None:
    sign_in(client, password="a guess at it")
    sign_in(client, name="my password, typed too early", password="x")
    sign_in(client)
    client.post("/admin/logout/")
    lines = [
        (line.what, line.actor, line.subject, line.address) for line in AuditEntry.objects.order_by("id")
    ]
    assert lines == [
        ("sign_in_failed", "", "olga", "192.0.2.1"),
        ("sign_in_failed", "", "an unknown name", "192.0.2.1"),
        ("signed_in", "olga", "", "192.0.2.1"),
        ("signed_out", "olga", "", "127.0.0.1"),
    ]
    stored = everything_stored()
    for secret in (PASSWORD, "a guess at it", "my password, typed too early"):
        assert secret not in stored


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_signing_in_leads_to_no_other_site(client: Client, olga: User, elsewhere: str) -> None:
    answer = client.post(f"{LOGIN}?next={elsewhere}", {"username": "olga", "password": PASSWORD})
    assert answer["Location"] == "/admin/"
    again = client.get(f"{LOGIN}?next={elsewhere}")
    assert again["Location"] == "/admin/"


def test_signing_in_needs_a_form_of_the_portal(olga: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert sign_in(client).status_code == 403
    assert not is_in(client)


def test_operators_see_the_log_and_nobody_changes_it(admin_client: Client, olga: User) -> None:
    sign_in(Client(), password="guess")
    page = admin_client.get("/admin/merchants/auditentry/", {"q": "192.0.2.1"}).content.decode()
    assert "Sign-in failed" in page
    line = AuditEntry.objects.get()
    assert admin_client.get("/admin/merchants/auditentry/add/").status_code == 403
    for what in ("change", "delete"):
        assert (
            admin_client.post(f"/admin/merchants/auditentry/{line.pk}/{what}/", {"post": "yes"}).status_code
            == 403
        )
    assert AuditEntry.objects.count() == 1
