"""No secret reaches a log line, in whatever way it is written (T-61)."""

import logging

import pytest

from config.logs import RedactSecrets, redact

# Joined here, so that no whole secret stands in a file.
KEY = "quitt_" + "0123456789abcdef" * 2 + "01234567"
SECRET = "whsec_" + "Ab1" * 11


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"key {KEY} used", "key [redacted] used"),
        (f"secret={SECRET}", "secret=[redacted]"),
        ("postgres://user:pass@db/x", "postgres://[redacted]@db/x"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_secrets_are_masked(text: str, masked: str) -> None:
    assert redact(text) == masked


def test_also_in_arguments_and_in_tracebacks() -> None:
    try:
        raise ValueError(KEY)
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed with %s", (SECRET,), info)
    assert RedactSecrets().filter(record)
    line = logging.Formatter().format(record)
    assert KEY not in line
    assert SECRET not in line
    assert "failed with [redacted]" in line
