"""Check that the mail server accepts a connection and the credentials, without sending an e-mail."""

from collections.abc import Iterator

from django.conf import settings
from django.core.mail import get_connection

from config.doctor.finding import Finding, failed, fine, warning

_SMTP = "django.core.mail.backends.smtp.EmailBackend"


def check() -> Iterator[Finding]:
    if settings.EMAIL_BACKEND != _SMTP:
        backend = settings.EMAIL_BACKEND.rsplit(".", 2)[-2]
        advice = "Set EMAIL_URL to your mail server, such as smtp+tls://user:password@mail.example.com:587."
        summary = f"e-mails are not sent, but kept by the {backend} backend"
        is_production = settings.ENVIRONMENT == "production"
        yield warning("EMAIL_URL", summary, advice) if is_production else fine("EMAIL_URL", summary)
        return
    server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
    try:
        connection = get_connection()
        connection.open()
        connection.close()
    except OSError as error:  # includes SMTP errors
        advice = "Compare EMAIL_URL with your mail server's host, port, TLS, user and password."
        yield failed("EMAIL_URL", f"{server} does not accept mail ({type(error).__name__})", advice)
        return
    yield fine("EMAIL_URL", f"{server} accepts this deployment's mail")
