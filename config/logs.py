"""Keeping secrets out of log lines, whoever wrote them (ASVS 16.2.5)."""

import logging
import re

_SECRET = re.compile(r"quitt_[0-9a-f]{6,40}|whsec_[0-9A-Za-z]{6,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")


def redact(text: str) -> str:
    """Return `text` with API keys, webhook secrets and URL credentials masked, found by their shape."""
    return _SECRET.sub("[redacted]", text)


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
