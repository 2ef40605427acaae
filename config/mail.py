"""Send e-mails in plain text. A staging deployment marks them as tests."""

from collections.abc import Mapping

from django.conf import settings
from django.core.mail import EmailMessage

_KEPT_HERE = ("console", "filebased", "dummy")
_OFF = ("console", "dummy")

TEST_NOTE = "TEST: this deployment is a sandbox. Don't deliver goods for its payments."


def send(recipient: str, subject: str, text: str, *, headers: Mapping[str, str] | None = None) -> None:
    """Send a plain text mail. Raises OSError (SMTP errors too), and ValueError for an invalid header or address."""
    if settings.ENVIRONMENT == "staging":
        subject, text = f"[TEST] {subject}", f"{TEST_NOTE}\n\n{text}"
    # The header prevents automatic replies, such as "out of office" (RFC 3834).
    marked = {"Auto-Submitted": "auto-generated", **(headers or {})}
    EmailMessage(subject, text, None, [recipient], headers=marked).send()


def is_configured() -> bool:
    """Whether e-mails are really sent. Otherwise they are written to a log or a folder, or dropped."""
    return settings.EMAIL_BACKEND.rsplit(".", 2)[-2] not in _KEPT_HERE


def is_off() -> bool:
    """Whether EMAIL_URL is not set. E-mails are then written to the log, or dropped."""
    return settings.EMAIL_BACKEND.rsplit(".", 2)[-2] in _OFF
