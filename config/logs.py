"""Mask secrets in all log lines, including those of libraries (ASVS 16.2.5)."""

import logging
import re
from typing import Any

import sentry_sdk

_SECRET = re.compile(r"quitt_[0-9a-f]{6,40}|whsec_[0-9A-Za-z]{6,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")


def redact(text: str) -> str:
    """Return `text` with API keys, webhook secrets and URL credentials masked, found by their shape."""
    return _SECRET.sub("[redacted]", text)


def report_errors(dsn: str, environment: str) -> None:
    """Send errors to Sentry if `dsn` is set, without bodies, headers, cookies and local variables."""
    if dsn:
        sentry_sdk.init(
            dsn,
            environment=environment,
            send_default_pii=False,
            include_local_variables=False,
            max_request_body_size="never",
            before_send=lambda event, _: _without_request_secrets(event),
        )


def _without_request_secrets(event: Any) -> Any:
    """Drop the request's headers, and mask secrets in every text of the event."""
    event.get("request", {}).pop("headers", None)
    event.get("request", {}).pop("cookies", None)
    return _masked(event)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {name: _masked(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in value]
    return value


class RedactSecrets(logging.Filter):
    """Mask secrets in the finished message, its arguments included."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        masked = redact(message)
        if masked != message:
            record.msg, record.args = masked, None
        if record.exc_info and not record.exc_text:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        return True
