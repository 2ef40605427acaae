"""Each secret of a running deployment can be replaced with the steps of docs/security.md."""

import pytest
import quittance
from cryptography.fernet import Fernet, InvalidToken
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from merchants import services
from merchants.models import Authenticator, Merchant, Permission
from tests.conftest import Api
from tests.support.portal.phone import PASSWORD, enrolled
from tests.support.webhooks.receiver import Received, Receiver, running_receiver
from webhooks.dispatch.testing import send_test_event
from webhooks.endpoints.configuration import Change, configure
from webhooks.endpoints.secrets_at_rest import decrypt
from webhooks.event_types import EventType
from webhooks.models import Endpoint

pytestmark = pytest.mark.django_db


def _sent(merchant: Merchant, receiver: Receiver) -> Received:
    send_test_event(merchant, EventType.PAYMENT_SUCCEEDED)
    return receiver.received[-1]


def _verifies(call: Received, secret: str) -> bool:
    try:
        quittance.webhooks.verify(call.body, call.signature, secret)
    except quittance.SignatureVerificationError:
        return False
    return True


def _secret(merchant: Merchant) -> str:
    return decrypt(Endpoint.objects.get(merchant=merchant).secret_encrypted)


def test_the_encryption_key_is_replaced_and_the_old_one_removed(
    merchant: Merchant, settings: Settings
) -> None:
    olga = User.objects.create_superuser("olga", password=PASSWORD)
    phone, _ = enrolled(olga)
    with running_receiver() as receiver:
        configure(merchant, Change(url=receiver.url))
        configure(merchant, Change(url=receiver.url, rotate_secret=True))
        configure(merchant, Change(url=receiver.url, rotate_secret=True))
        secret = _secret(merchant)
        assert Endpoint.objects.get().older_secrets
        old, new = settings.ENCRYPTION_KEYS, Fernet.generate_key().decode()
        settings.ENCRYPTION_KEYS = [new, *old]
        assert _verifies(_sent(merchant, receiver), secret)
        # Without this step, the old key can't be removed.
        settings.ENCRYPTION_KEYS = [new]
        with pytest.raises(InvalidToken):
            _secret(merchant)
        settings.ENCRYPTION_KEYS = [new, *old]
        call_command("reencrypt_secrets")
        settings.ENCRYPTION_KEYS = [new]
        assert _secret(merchant) == secret
        assert _verifies(_sent(merchant, receiver), secret)
    assert Authenticator.objects.get(user=olga).verify_token(phone.code())
    call_command("reencrypt_secrets")  # a second run loses nothing
    assert _secret(merchant) == secret


def test_what_no_key_decrypts_is_reported_and_left_as_it_was(
    merchant: Merchant, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(merchant, Change(url="http://127.0.0.1:9/"))
    before = bytes(Endpoint.objects.get().secret_encrypted)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(SystemExit):
        call_command("reencrypt_secrets")
    assert "1 rows can't be decrypted" in capsys.readouterr().err
    assert bytes(Endpoint.objects.get().secret_encrypted) == before


def test_a_new_secret_key_ends_sessions_and_nothing_else(merchant: Merchant, settings: Settings) -> None:
    _, key = services.issue_key(merchant=merchant, permissions=[Permission.MANAGE_WEBHOOKS], name="shop")
    User.objects.create_superuser("olga", password=PASSWORD)
    portal = Client()
    assert portal.login(username="olga", password=PASSWORD)
    assert portal.get("/admin/").status_code == 200
    with running_receiver() as receiver:
        configure(merchant, Change(url=receiver.url))
        secret = _secret(merchant)
        settings.SECRET_KEY = "another-key-" + "9876543210" * 5
        assert portal.get("/admin/").status_code == 302
        assert portal.login(username="olga", password=PASSWORD)
        assert portal.get("/admin/").status_code == 200
        assert Api(key).get("/api/webhooks").status_code == 200
        assert _verifies(_sent(merchant, receiver), secret)
