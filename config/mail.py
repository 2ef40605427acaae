"""Outgoing e-mail: plain text, marked as a test on a staging deployment."""

from django.conf import settings
from django.core.mail import send_mail

TEST_NOTE = "TEST: this deployment is a sandbox. Don't deliver goods for its payments."


def send(recipient: str, subject: str, text: str) -> None:
    """Send a plain text mail. Raises OSError, which includes SMTP errors."""
    if settings.ENVIRONMENT == "staging":
        subject, text = f"[TEST] {subject}", f"{TEST_NOTE}\n\n{text}"
    send_mail(subject, text, None, [recipient])
