"""No secret reaches a log line, in any notation."""

import json
import logging
import threading

import pytest

from config import logs
from config.api.log_context import add_to_log_context, log_context, logged_ids
from config.api.request_id import RequestIdFilter
from config.logs import JsonLines, OncePerMinute, RedactSecrets, TextLines, know_secrets, redact

# Built from parts, so that no file contains a whole secret.
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


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deployment's secrets. One of them is too short to count as a secret."""
    monkeypatch.setattr(logs, "_known", None)
    know_secrets(
        [
            "sixteen-characters-or-more",
            "first-of-two-keys,second-of-two-keys",
            "https://operator:the-password-1@node.example/v2/the-key-in-the-path?apikey=the-key-in-the-query",
            "postgresql://quittance:quittance@db.example:5432/quittance_production?host=/var/run/postgresql",
            "short",
        ]
    )


@pytest.mark.parametrize(
    "secret",
    [
        "sixteen-characters-or-more",
        "second-of-two-keys",
        "the-password-1",
        "the-key-in-the-path",
        "the-key-in-the-query",
    ],
)
def test_deployment_secrets_are_masked_anywhere_in_a_line(known: None, secret: str) -> None:
    assert redact(f"before {secret} after") == "before [redacted] after"


@pytest.mark.parametrize("word", ["short", "quittance_production", "/var/run/postgresql", "node.example"])
def test_what_is_no_secret_stays(known: None, word: str) -> None:
    assert redact(f"before {word} after") == f"before {word} after"


def _line(formatter: logging.Formatter, message: str = "it happened", **extra: object) -> str:
    record = logging.LogRecord("a.logger", logging.INFO, __file__, 1, message, (), None)
    assert RequestIdFilter().filter(record)
    return formatter.format(record)


def test_a_json_line_has_the_ids_of_what_it_is_about() -> None:
    with log_context(payment_request_id="r-1", chain_id=8453), log_context(payment_id="pay_1", event_id=None):
        line = json.loads(_line(JsonLines()))
    assert (line["payment_request_id"], line["payment_id"], line["chain_id"]) == ("r-1", "pay_1", "8453")
    assert (line["level"], line["logger"], line["message"]) == ("INFO", "a.logger", "it happened")
    assert "event_id" not in line
    assert "request_id" not in line


def test_a_text_line_ends_with_them_and_a_traceback_follows() -> None:
    formatter = TextLines("%(levelname)s %(message)s")
    with log_context(payment_id="pay_1"):
        assert _line(formatter) == "INFO it happened [payment_id=pay_1]"
        assert _line(formatter, "one\ntwo") == "INFO one [payment_id=pay_1]\ntwo"
    assert _line(formatter) == "INFO it happened"


def test_a_message_of_many_lines_is_one_json_line() -> None:
    assert json.loads(_line(JsonLines(), 'a "quoted"\nsecond line \u2028 end'))["message"].count("\n") == 1
    assert len(_line(JsonLines(), "one\ntwo").splitlines()) == 1


def test_ids_end_with_their_context_and_stay_in_their_thread() -> None:
    seen: list[object] = []
    with log_context(payment_id="pay_1"):
        with log_context():
            add_to_log_context(payment_request_id="r-1")
            assert logged_ids() == {"payment_id": "pay_1", "payment_request_id": "r-1"}
        assert logged_ids() == {"payment_id": "pay_1"}
        thread = threading.Thread(target=lambda: seen.append(dict(logged_ids())))
        thread.start()
        thread.join()
    assert seen == [{}]
    add_to_log_context(payment_id="pay_2")
    assert logged_ids() == {}


def test_a_misspelt_id_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(TypeError, match="payment_hash"), log_context(payment_hash="0x"):
        pass


def test_repeated_error_is_logged_once_a_minute_with_its_count() -> None:
    now = [1000.0]
    once = OncePerMinute(clock=lambda: now[0])

    def passes(text: str, level: int = logging.ERROR, *values: object) -> str:
        record = logging.LogRecord("celery.beat", level, __file__, 1, text, values, None)
        return record.getMessage() if once.filter(record) else ""

    assert passes("%s failed", logging.ERROR, "expiry") == "expiry failed"
    assert [passes("%s failed", logging.ERROR, name) for name in ("values", "expiry")] == ["", ""]
    assert passes("another fault\nwith its stack") == "another fault"
    assert [passes("started", logging.INFO) for _ in range(2)] == ["started"] * 2
    now[0] += 60
    assert passes("%s failed", logging.ERROR, "values") == "values failed (and 2 more since)"
    assert passes("%s failed", logging.ERROR, "values") == ""
