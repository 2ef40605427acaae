"""Doctor reports a mail server that doesn't accept mail. The tests use real connections."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from config.doctor import mail
from config.doctor.finding import Level
from tests.support.operations.findings import levels
from tests.support.operations.mail_server import running_mail_server

_SMTP = "django.core.mail.backends.smtp.EmailBackend"


@pytest.fixture
def mail_server(settings: Settings) -> Iterator[None]:
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = _SMTP, "127.0.0.1"
    with running_mail_server() as settings.EMAIL_PORT:
        yield


def test_a_server_that_takes_mail_has_nothing_wrong(mail_server: None) -> None:
    assert levels(mail.check()) == {"EMAIL_URL": "ok"}


def test_a_server_that_can_not_be_reached_is_named(settings: Settings) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_HOST, settings.EMAIL_PORT = _SMTP, "127.0.0.1", 1
    (finding,) = mail.check()
    assert finding.level is Level.FAILED
    assert finding.summary == "127.0.0.1:1 does not accept mail (ConnectionRefusedError)"


def test_a_server_that_needs_another_password_is_named(mail_server: None, settings: Settings) -> None:
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "user", "secret"  # the server has no sign-in
    (finding,) = mail.check()
    assert finding.level is Level.FAILED
    assert "secret" not in finding.summary + finding.advice


def test_mails_that_are_only_printed_are_named_in_production(settings: Settings) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert levels(mail.check()) == {"EMAIL_URL": "ok"}
    settings.ENVIRONMENT = "production"
    assert levels(mail.check()) == {"EMAIL_URL": "warning"}
