"""The outbox sends each e-mail once, retries it, gives up after a time, and never logs its content."""

from datetime import timedelta
from smtplib import SMTPDataError, SMTPRecipientsRefused, SMTPServerDisconnected

import pytest
from django.core import mail
from django.utils import timezone

from merchants.mail.outbox import enqueue
from merchants.mail.sending import FIRST_PAUSE, KEPT, send_due
from merchants.models import Mail, Merchant

pytestmark = pytest.mark.django_db
ADDRESS = "customer@example.net"


@pytest.fixture
def waiting(merchant: Merchant) -> Mail:
    enqueue(merchant, Mail.RECEIPT, ADDRESS, "Receipt\r\nBcc: all@example.com", "Paid.\n")
    return Mail.objects.get()


class Failing:
    """A mail server that fails with these errors in order, and then accepts mail."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.sent: list[str] = []

    def __call__(self, recipient: str, subject: str, text: str) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.sent.append(recipient)


def refused(code: int) -> Exception:
    return SMTPRecipientsRefused({ADDRESS: (code, f"<{ADDRESS}>: no".encode())})


def test_mail_is_sent_once_and_its_row_deleted(waiting: Mail) -> None:
    assert send_due() == 1
    assert send_due() == 0
    [letter] = mail.outbox
    assert letter.recipients() == [ADDRESS]
    assert letter.subject == "[TEST] Receipt Bcc: all@example.com"
    assert letter.extra_headers == {"Auto-Submitted": "auto-generated"}
    assert not Mail.objects.exists()


@pytest.mark.parametrize("error", [SMTPServerDisconnected("gone"), SMTPDataError(451, b"busy"), refused(450)])
def test_temporary_failure_is_retried_after_a_pause(waiting: Mail, error: Exception) -> None:
    server, start = Failing(error), timezone.now()
    send_due(send=server)
    assert send_due(send=server) == 0
    later = lambda: start + FIRST_PAUSE + timedelta(seconds=5)  # noqa: E731
    assert send_due(now=later, send=server) == 1
    assert server.sent == [ADDRESS]
    assert not Mail.objects.exists()


@pytest.mark.parametrize("error", [refused(550), ValueError("no header can have this")])
def test_final_failure_deletes_the_mail_at_once(waiting: Mail, error: Exception) -> None:
    server = Failing(error)
    send_due(send=server)
    assert (server.sent, Mail.objects.exists()) == ([], False)


def test_failing_mail_is_given_up_after_a_day(waiting: Mail) -> None:
    send_due(send=Failing(OSError()), now=lambda: waiting.created_at + KEPT - timedelta(seconds=1))
    assert Mail.objects.get().failures == 1
    send_due(send=Failing(OSError()), now=lambda: waiting.created_at + KEPT + timedelta(hours=1))
    assert not Mail.objects.exists()


def test_failed_mail_does_not_block_the_next_one(waiting: Mail, merchant: Merchant) -> None:
    enqueue(merchant, Mail.RECEIPT, "second@example.net", "Receipt", "Paid.")
    server = Failing(OSError())
    send_due(send=server)
    assert server.sent == ["second@example.net"]


@pytest.mark.parametrize("error", [refused(450), refused(550)])
def test_log_of_a_failure_has_no_address(
    waiting: Mail, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    send_due(send=Failing(error))
    assert "SMTPRecipientsRefused" in caplog.text
    assert "example.net" not in caplog.text


def test_mail_of_a_lost_lease_is_left_to_its_new_holder(waiting: Mail, merchant: Merchant) -> None:
    def taken_over(*_: str) -> None:
        Mail.objects.update(claim_id="00000000-0000-0000-0000-000000000001")
        raise OSError

    send_due(send=taken_over)
    assert Mail.objects.get().failures == 0


def test_mail_sent_after_its_lease_was_lost_is_deleted(waiting: Mail) -> None:
    def taken_over(*_: str) -> None:
        Mail.objects.update(
            claim_id="00000000-0000-0000-0000-000000000001",
            lease_until=timezone.now() + timedelta(seconds=10),
        )

    assert send_due(send=taken_over) == 1
    assert not Mail.objects.exists()


@pytest.mark.parametrize("error", [refused(550), OSError()])
def test_mail_given_up_after_its_lease_was_lost_is_deleted(waiting: Mail, error: Exception) -> None:
    def taken_over(*_: str) -> None:
        Mail.objects.update(
            claim_id="00000000-0000-0000-0000-000000000001",
            lease_until=timezone.now() + timedelta(seconds=10),
        )
        raise error

    send_due(send=taken_over, now=lambda: waiting.created_at + KEPT + timedelta(hours=1))
    assert not Mail.objects.exists()


def test_slow_mail_holds_up_no_other_under_its_lease(waiting: Mail, merchant: Merchant) -> None:
    enqueue(merchant, Mail.RECEIPT, "second@example.net", "Receipt", "Paid.")
    leased = []

    def send(*_: str) -> None:
        leased.append(Mail.objects.filter(lease_until__isnull=False).count())

    assert send_due(send=send) == 2
    assert leased == [1, 1]


def test_merchants_take_turns_in_the_outbox(
    waiting: Mail, merchant: Merchant, other_merchant: Merchant
) -> None:
    for number in range(5):
        enqueue(merchant, Mail.RECEIPT, f"{number}@example.net", "Receipt", "Paid.")
    enqueue(other_merchant, Mail.RECEIPT, "other@example.net", "Receipt", "Paid.")
    sent: list[str] = []
    send_due(send=lambda recipient, *_: sent.append(recipient))
    assert "other@example.net" in sent[:2]
