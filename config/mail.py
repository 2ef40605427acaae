"""Outgoing e-mail: plain text, marked as a test on a staging deployment."""

from django.conf import settings
from django.core.mail import send_mail

_KEPT_HERE = ("console", "filebased", "dummy")

TEST_NOTE = "TEST: this deployment is a sandbox. Don't deliver goods for its payments."


def send(recipient: str, subject: str, text: str) -> None:
    """Send a plain text mail. Raises OSError, which includes SMTP errors."""
    if settings.ENVIRONMENT == "staging":
        subject, text = f"[TEST] {subject}", f"{TEST_NOTE}\n\n{text}"
    send_mail(subject, text, None, [recipient])


def is_configured() -> bool:
    """Whether e-mails leave this deployment; otherwise a log or a folder keeps them."""
    return settings.EMAIL_BACKEND.rsplit(".", 2)[-2] not in _KEPT_HERE
