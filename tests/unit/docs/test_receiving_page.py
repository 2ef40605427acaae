"""The statements about bodies, times and calls on the page for receivers are true. Its handlers and commands work."""

import json
import os
import re
import shutil
import subprocess
from datetime import timedelta
from typing import Any

import pytest
import quittance
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import resolve
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from flask import Flask, request
from pytest_django.live_server_helper import LiveServer
from werkzeug.serving import make_server

from merchants.models import ApiKey, Merchant
from tests.loopback import serving
from tests.support.docs.pages import REPOSITORY, sample_with, samples, table_rows
from tests.support.webhooks.receiver import running_receiver
from webhooks.dispatch.http_client import DEADLINE_SECONDS
from webhooks.dispatch.retry_schedule import DELAYS, JITTER, MAX_ATTEMPTS
from webhooks.dispatch.signing import sign
from webhooks.dispatch.testing import example_object, send_test_event
from webhooks.endpoints.configuration import ROTATION_OVERLAP, Change, configure
from webhooks.endpoints.health import DISABLE_AFTER, WARN_AFTER
from webhooks.event_types import EventType
from webhooks.events import record_event

PAGE = REPOSITORY / "docs" / "receiving-webhooks.md"
TEXT = PAGE.read_text()
SAMPLES = REPOSITORY / "docs" / "receiving-webhooks"
BODY = (SAMPLES / "event.json").read_bytes()
EVENT = json.loads(BODY)

Remembered = list[tuple[str, bytes]]


def _headers() -> dict[str, str]:
    """Return the headers of the page's sample delivery."""
    (shown,) = samples(PAGE, "http")
    return dict(line.split(": ", 1) for line in shown.splitlines()[1:])


def test_a_delivery_has_the_headers_that_the_page_shows(merchant: Merchant) -> None:
    with running_receiver() as receiver:
        configure(merchant, Change(url=receiver.url))
        send_test_event(merchant, EventType.PAYMENT_SUCCEEDED)
    (received,) = receiver.received
    fresh = {"Service-Event-Id", "Service-Signature"}
    assert {name: received.headers[name] for name in _headers().keys() - fresh} == {
        name: value for name, value in _headers().items() if name not in fresh
    }
    assert received.headers.keys() >= fresh


def test_page_body_matches_event_file_and_has_all_fields() -> None:
    (shown,) = samples(PAGE, "json")
    assert json.loads(shown) == EVENT
    assert EVENT["id"] == _headers()["Service-Event-Id"]
    fields = example_object(EventType.PAYMENT_SUCCEEDED).keys() - {"test"}
    assert EVENT["data"]["object"].keys() == fields


def test_page_signature_matches_product_signature_of_file() -> None:
    (secret,) = re.findall(r"`(whsec_\w{32})`", TEXT)
    shown = _headers()["Service-Signature"]
    timestamp = int(shown.split(",")[0].removeprefix("t="))
    assert sign([secret], timestamp, BODY) == shown
    assert f"({len(BODY)} bytes, without a newline" in TEXT


def test_the_retries_are_those_of_the_schedule() -> None:
    rows = [row for row in table_rows(PAGE) if len(row) == 3 and row[0].isdigit()]
    assert [int(row[0]) for row in rows] == list(range(1, MAX_ATTEMPTS + 1))
    assert tuple(_span(row[1]) for row in rows[1:]) == DELAYS
    assert [_span(row[2]) for row in rows] == [
        sum(DELAYS[:made], start=timedelta()) for made in range(MAX_ATTEMPTS)
    ]
    assert JITTER == 0.1


def _span(words: str) -> timedelta:
    units = {"min": "minutes", "minute": "minutes", "h": "hours", "hour": "hours"}
    found = re.findall(r"(\d+) (\w+?)s?\b", words)
    return timedelta(**{units[unit]: int(number) for number, unit in found})


def test_the_times_are_those_of_the_code() -> None:
    assert WARN_AFTER == ROTATION_OVERLAP == timedelta(hours=24)
    assert "After **24 hours** in which every attempt failed" in TEXT
    assert "For 24 hours every delivery is signed with both" in " ".join(TEXT.split())
    assert f"After **{DISABLE_AFTER.days} days**" in TEXT
    assert f"within {DEADLINE_SECONDS:g} seconds**" in TEXT


def test_each_call_that_the_page_names_is_there() -> None:
    calls = re.findall(r"`(?:GET|PUT|POST) (/api/[\w/{}-]+)`", TEXT)
    assert len(calls) > 10
    for path in calls:
        resolve(path.replace("{id}", EVENT["data"]["object"]["payment_request"]))


def _handler(words: str, remembered: Remembered, monkeypatch: pytest.MonkeyPatch, **names: Any) -> Any:
    """Run the sample, then the handler that contains `words`; return the namespace."""
    monkeypatch.setenv("WEBHOOK_SECRET", "whsec_" + "a" * 32)
    space: dict[str, Any] = {"os": os, "remember": lambda *seen: remembered.append(seen), **names}
    for code in ((SAMPLES / "verify.py").read_text(), sample_with(PAGE, "python", words)):
        exec(code, space)
    return space


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not on this machine.")
def test_the_command_sends_what_the_flask_handler_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    remembered: Remembered = []
    app = Flask("receiver")
    _handler('@app.post("/webhooks', remembered, monkeypatch, app=app, request=request)
    with serving(make_server("127.0.0.1", 0, app, threaded=True)) as address:
        url = f"{address}/webhooks/quittance"
        assert " 204 " in _sent(url, "whsec_" + "a" * 32)
        assert remembered == [(EVENT["id"], BODY)]
        assert " 400 " in _sent(url, "whsec_" + "b" * 32)
    assert len(remembered) == 1


def _sent(url: str, secret: str) -> str:
    """Run the page's command; return the response's status line."""
    done = subprocess.run(
        ["bash", "-euc", sample_with(PAGE, "sh", "openssl")],
        cwd=SAMPLES,
        env={**os.environ, "WEBHOOK_URL": url, "WEBHOOK_SECRET": secret, "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0]


def test_django_handler_accepts_only_the_signed_body(monkeypatch: pytest.MonkeyPatch) -> None:
    remembered: Remembered = []
    names = {"HttpRequest": HttpRequest, "HttpResponse": HttpResponse}
    decorators = {"csrf_exempt": csrf_exempt, "require_POST": require_POST}
    space = _handler("HttpRequest", remembered, monkeypatch, **names, **decorators)
    signature = sign(["whsec_" + "a" * 32], int(space["time"].time()), BODY)

    def answer(body: bytes) -> int:
        made = RequestFactory().post(
            "/", body, content_type="application/json", headers={"Service-Signature": signature}
        )
        return int(space["receive"](made).status_code)

    assert answer(BODY) == 204
    assert remembered == [(EVENT["id"], BODY)]
    assert answer(BODY.replace(b"order-1001", b"order-1002")) == 400
    assert len(remembered) == 1


@pytest.mark.django_db
def test_the_statements_take_an_event_once_and_hand_it_out_once() -> None:
    table, insert, work = samples(PAGE, "sql")
    select, update = (line.replace("$1", "%s") for line in work.splitlines() if " quittance_events " in line)
    with connection.cursor() as cursor:
        cursor.execute(table)
        for new in (1, 0):
            cursor.execute(re.sub(r"\$\d", "%s", insert), [EVENT["id"], BODY.decode()])
            assert cursor.rowcount == new
        cursor.execute(select)
        assert cursor.fetchall() == [(EVENT["id"], BODY.decode())]
        cursor.execute(update, [EVENT["id"]])
        cursor.execute(select)
        assert cursor.fetchall() == []


@pytest.mark.django_db(transaction=True)
def test_catching_up_takes_what_came_meanwhile_oldest_first(
    live_server: LiveServer, merchant: Merchant, api_key: tuple[ApiKey, str]
) -> None:
    events = [_recorded(merchant, str(number)) for number in range(4)]
    remembered: Remembered = []
    space = {"json": json, "quittance": quittance, "remember": lambda *seen: remembered.append(seen)}
    exec(sample_with(PAGE, "python", "def catch_up"), space)
    with quittance.Client(api_key[1], base_url=live_server.url) as client:
        space["catch_up"](client, events[0].id)
    assert [(id_, json.loads(body)) for id_, body in remembered] == [
        (event.id, json.loads(event.body)) for event in events[1:]
    ]


def _recorded(merchant: Merchant, key: str) -> Any:
    with transaction.atomic():
        data = example_object(EventType.PAYMENT_SUCCEEDED)
        return record_event(merchant=merchant, type="payment.succeeded", dedupe_key=key, data=data)
