"""Check of outgoing e-mail: the server accepts a connection and the credentials. Nothing is sent."""

from collections.abc import Iterator

from django.conf import settings
from django.core.mail import get_connection

from config.doctor.finding import Finding, failed, fine, warning

_SMTP = "django.core.mail.backends.smtp.EmailBackend"


def check() -> Iterator[Finding]:
    """Yield whether e-mails leave: password resets, and warnings to merchants whose endpoint fails."""
    if settings.EMAIL_BACKEND != _SMTP:
        where = settings.EMAIL_BACKEND.rsplit(".", 2)[-2]
        advice = "Set EMAIL_URL to your mail server, such as smtp+tls://user:password@mail.example.com:587."
        summary = f"e-mails are not sent, but kept by the {where} backend"
        yield (warning if settings.ENVIRONMENT == "production" else _noted)("EMAIL_URL", summary, advice)
        return
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        connection = get_connection()
        connection.open()
        connection.close()
    except OSError as error:  # which SMTP's errors are
        advice = "Compare EMAIL_URL with your mail server's host, port, TLS, user and password."
        yield failed("EMAIL_URL", f"{server} does not accept mail ({type(error).__name__})", advice)
        return
    yield fine("EMAIL_URL", f"{server} accepts this deployment's mail")


def _noted(subject: str, summary: str, advice: str) -> Finding:  # noqa: ARG001 - as `warning`
    return fine(subject, summary)
