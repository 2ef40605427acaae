"""Format log lines as text or JSON. Secrets are masked, also in the lines of libraries (ASVS 16.2.5)."""

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

_SECRET = re.compile(r"quitt_[0-9a-f]{6,40}|whsec_[0-9A-Za-z]{6,}|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
# With the code in these paths, anyone can open the page or make the call. So the log shortens the code. Support can
# still find the request: four characters of the code remain, or the time at the beginning of a UUID. Paths under
# /api/refunds/ stay whole, because they need an API key.
_CAPABILITY = re.compile(
    r"(/pay/|/l/|(?<!/api)/refunds/|/api/public/payment-requests/|/admin/invitation/|/notices/)([^/\s?#\"'<>]+)"
    r"(?:(/sign/|/by-hand/proof/)([^/\s?#\"'<>]+))?"
)
_KEPT_OF_CODE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}(?=-|\[)|[^\[]{0,4}", re.IGNORECASE)
_MINUTE = 60.0
# Shorter parts aren't masked, because they may be ordinary words, such as a password in development. `_SECRET` still
# masks user and password in URLs.
_SHORTEST_PART = 12

_known: re.Pattern[str] | None = None


def redact(text: str) -> str:
    """Return `text` with secrets masked.

    Secret settings are found by their values. API keys, webhook secrets, credentials in URLs and codes in customers'
    paths are found by their format.
    """
    if _known is not None:
        text = _known.sub("[redacted]", text)
    return _CAPABILITY.sub(_without_codes, _SECRET.sub("[redacted]", text))


def _without_codes(path: re.Match[str]) -> str:
    prefix, code, infix, second = path.groups()
    return prefix + _shortened(code) + (infix + _shortened(second) if infix else "")


def _shortened(code: str) -> str:
    kept = _KEPT_OF_CODE.match(code)
    return f"{kept[0] if kept else ''}[redacted]"


def know_secrets(texts: Iterable[str]) -> None:
    """Mask the values of these secret settings from now on. If a value is a URL, mask only its secret parts."""
    global _known
    parts = sorted({part for text in texts for part in _parts(text)}, key=len, reverse=True)
    _known = re.compile("|".join(map(re.escape, parts))) if parts else None


def _parts(text: str) -> Iterator[str]:
    """Yield each secret of a comma-separated list.

    If a secret is a URL, yield its credentials, path segments and query values.
    """
    for secret in text.split(","):
        if "://" not in secret:
            yield from (secret.strip(),) if len(secret.strip()) >= _SHORTEST_PART else ()
            continue
        try:
            url = urlsplit(secret.strip())
            # A node's URL may have a key in its path or query. A database's URL has only names there, and perhaps a
            # password in the query.
            is_web = url.scheme in ("http", "https", "ws", "wss")
            values = [value for name, value in parse_qsl(url.query) if is_web or "password" in name]
            segments = url.path.split("/") if is_web else []
            parts = [url.username or "", url.password or "", *segments, *values]
        except ValueError:
            continue
        for part in parts:
            yield from {each for each in (part, unquote(part)) if len(each) >= _SHORTEST_PART}


def report_errors(dsn: str, environment: str) -> None:
    """Send errors to Sentry if `dsn` is set, without bodies, headers, cookies and local variables."""
    if dsn:
        import sentry_sdk  # the beat process loads this module without Sentry

        sentry_sdk.init(
            dsn,
            environment=environment,
            send_default_pii=False,
            include_local_variables=False,
            max_request_body_size="never",
            before_send=lambda event, _: _without_request_secrets(event),
        )


def _without_request_secrets(event: Any) -> Any:
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
    """Mask secrets in the formatted message."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        masked = redact(message)
        if masked != message:
            record.msg, record.args = masked, None
        if record.exc_info and not record.exc_text:
            record.exc_text = redact(logging.Formatter().formatException(record.exc_info))
        return True


class OncePerMinute(logging.Filter):
    """Log repeated warnings and errors once a minute, with the number of repetitions and without a traceback.

    Two lines are the same if they have the same format and the same type of exception. `clock` returns seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        key = (record.name, record.msg, record.exc_info[0] if record.exc_info else None)
        now = self._clock()
        with self._lock:
            shown_at, omitted = self._seen.get(key, (-_MINUTE, 0))
            if now - shown_at < _MINUTE:
                self._seen[key] = (shown_at, omitted + 1)
                return False
            self._seen[key] = (now, 0)
        first_line = record.getMessage().partition("\n")[0]
        record.msg, record.args = first_line + (f" (and {omitted} more since)" if omitted else ""), None
        record.exc_info = record.exc_text = None
        return True


class TextLines(logging.Formatter):
    """One line of text: time, level, logger, request id, message and ids."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        ids = getattr(record, "ids", None)
        if not ids:
            return line
        first, _, rest = line.partition("\n")
        shown = " ".join(f"{name}={value}" for name, value in ids.items())
        return f"{first} [{shown}]" + (f"\n{rest}" if rest else "")


class JsonLines(logging.Formatter):
    """One JSON object on a line: time, level, logger, message, ids, and the traceback of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        request_id = getattr(record, "request_id", "-")
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **({"request_id": request_id} if request_id != "-" else {}),
            **getattr(record, "ids", {}),
            "process": record.process,
        }
        if record.exc_info and not record.exc_text:
            record.exc_text = redact(self.formatException(record.exc_info))
        if record.exc_text:
            line["exception"] = record.exc_text
        return json.dumps(line, ensure_ascii=False, default=str)


_WITH_DJANGO = {
    "ids": {"()": "config.api.request_id.RequestIdFilter"},
    "outages": {"()": "config.database.outages.OutagesInOneLine"},
}


def logging_configuration(level: str, form: str, *, with_ids: bool = True) -> dict[str, Any]:
    """Return the configuration for `logging.config.dictConfig`. `form` is "text" or "json".

    `with_ids` needs Django, so the beat process doesn't use it.
    """
    filters = ["ids", "outages", "secrets"] if with_ids else ["secrets"]
    request_id = " %(request_id)s" if with_ids else ""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            **(_WITH_DJANGO if with_ids else {}),
            "secrets": {"()": "config.logs.RedactSecrets"},
            "once_a_minute": {"()": "config.logs.OncePerMinute"},
        },
        "formatters": {
            "text": {
                "()": "config.logs.TextLines",
                "format": f"%(asctime)s %(levelname)s %(name)s{request_id} %(message)s",
            },
            "json": {"()": "config.logs.JsonLines"},
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": form, "filters": filters}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "django.request": {"level": "ERROR"},
            "urllib3": {"level": "WARNING"},
            "celery.app.trace": {"level": "WARNING"},
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.worker.request": {"level": "ERROR"},
            # While Redis is down, these two loggers write hundreds of tracebacks a second.
            "celery.beat": {"level": "WARNING", "filters": ["once_a_minute"]},
            "celery.worker.consumer.consumer": {"filters": ["once_a_minute"]},
            # "psycopg.pool" writes a line for each failed attempt to connect to PostgreSQL.
            "psycopg.pool": {"filters": ["once_a_minute"]},
            # By default, the servers' loggers have their own handlers, which would write lines in another format and
            # with secrets.
            "gunicorn.error": {"handlers": ["console"], "level": "INFO", "propagate": False},
            # gunicorn's access log is off, but --access-logfile can switch it on.
            "gunicorn.access": {"handlers": ["console"], "level": "INFO", "propagate": False},
            "uvicorn": {"handlers": ["console"], "level": "INFO", "propagate": False},
            # Without this entry, the "uvicorn" logger above would cancel uvicorn's --no-access-log.
            "uvicorn.access": {"handlers": [], "propagate": False},
        },
    }
