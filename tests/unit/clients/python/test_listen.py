"""`quittance listen` forwards each event once, signed and in order, even if either side has outages."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quittance

from demo.services.process import free_port
from tests.support.clients.python.middleman import Middleman, answering, cut, cut_after_it_was_handled
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.receiver import Received, Receiver, answer, running_receiver
from tests.unit.clients.python.running import Command, running
from webhooks.models import Event

Happening = Callable[..., str]

SECRET = "whsec_" + "s" * 32


@pytest.fixture
def happens(client: quittance.Client, terms: Callable[..., dict[str, Any]]) -> Happening:
    """Return a function that simulates an outcome of a new request and returns the event's id."""

    def happen(outcome: str = "paid", **different: Any) -> str:
        made = client.payment_requests.create(**terms(**different))
        client.sandbox.simulate(made.id, outcome)
        return client.events.list(limit=1).data[0].id

    return happen


@pytest.fixture
def settings(key: str, service: str) -> dict[str, str]:
    return {
        "QUITTANCE_API_KEY": key,
        "QUITTANCE_BASE_URL": service,
        "QUITTANCE_WEBHOOK_SECRET": SECRET,
        "no_proxy": "*",
    }


def test_an_event_arrives_as_a_real_delivery_does(
    client: quittance.Client, settings: dict[str, str], receiver: Receiver, happens: Happening
) -> None:
    client.webhooks.update(url=receiver.url)
    with running("listen", "--forward-to", receiver.url, **settings) as listening:
        introduction = listening.line() + listening.line()
        listening.line_with("Ready")
        event_id = happens("paid", external_id="order-1001 für zwei")
        line = listening.line()
    assert ("payment.succeeded" in line, event_id in line, " 200 " in line) == (True, True, True)
    assert line.endswith("ms  order-1001 für zwei")
    assert SECRET not in introduction
    forwarded = receiver.arrivals.get(timeout=5)
    assert quittance.webhooks.verify(forwarded.body, forwarded.signature, SECRET).id == event_id
    assert forwarded.body == bytes(Event.objects.get().body)
    assert deliver_next()
    real = receiver.arrivals.get(timeout=5)
    assert _told(forwarded) == _told(real)
    assert (forwarded.path, forwarded.body) == (real.path, real.body)


def test_only_what_happens_from_now_on_is_forwarded_in_its_order(
    settings: dict[str, str], receiver: Receiver, happens: Happening
) -> None:
    happens("paid")
    with running("listen", "--json", "--forward-to", receiver.url, **settings) as listening:
        assert json.loads(listening.line())["forwarding_to"] == receiver.url
        expected = [happens(outcome) for outcome in ("failed", "expired", "paid", "underpaid")]
        lines = [json.loads(listening.line()) for _ in expected]
        assert listening.interrupt() == 0
    assert [line["event_id"] for line in lines] == expected
    assert [line["type"] for line in lines] == [
        "payment.failed",
        "payment.expired",
        "payment.succeeded",
        "payment.partially_paid",
    ]
    assert [each.headers["Service-Event-Id"] for each in receiver.received] == expected


def test_it_makes_a_secret_where_none_is_given_and_shows_it(
    settings: dict[str, str], receiver: Receiver, happens: Happening
) -> None:
    without = {**settings, "QUITTANCE_WEBHOOK_SECRET": ""}
    with running("listen", "--forward-to", receiver.url, **without) as listening:
        secret = listening.line_with("whsec_").split()[-1]
        listening.line_with("Ready")
        happens()
        listening.line()
    received = receiver.received[0]
    assert quittance.webhooks.verify(received.body, received.signature, secret)
    assert secret != SECRET
    assert len(secret) == 38


def test_an_outage_of_the_service_loses_and_repeats_nothing(
    settings: dict[str, str], receiver: Receiver, happens: Happening, middleman: Middleman
) -> None:
    through = {**settings, "QUITTANCE_BASE_URL": middleman.url}
    with running("listen", "--json", "--forward-to", receiver.url, **through) as listening:
        listening.line()
        expected = [happens()]
        assert json.loads(listening.line())["event_id"] == expected[0]
        middleman.faults = [cut, answering(502, b"<h1>Bad gateway</h1>"), cut_after_it_was_handled]
        listening.line_with("can't be asked", "err")
        expected += [happens() for _ in range(3)]
        for event_id in expected[1:]:
            assert json.loads(listening.line())["event_id"] == event_id
        listening.line_with("answers again", "err")
        assert listening.interrupt() == 0
    assert [each.headers["Service-Event-Id"] for each in receiver.received] == expected


def test_events_wait_while_nobody_listens(settings: dict[str, str], happens: Happening) -> None:
    port = free_port()
    with running("listen", "--json", "--forward-to", f"localhost:{port}/hook", **settings) as listening:
        listening.line()
        expected = [happens() for _ in range(2)]
        assert expected[0] in listening.line_with("No server at", "err")
        with running_receiver(port) as receiver:
            for event_id in expected:
                assert json.loads(listening.line())["event_id"] == event_id
            assert [each.headers["Service-Event-Id"] for each in receiver.received] == expected


@pytest.mark.parametrize(("status", "remark"), [(500, "tried again"), (302, "redirects"), (204, None)])
def test_receiver_status_is_shown_and_event_is_not_resent(
    settings: dict[str, str], receiver: Receiver, happens: Happening, status: int, remark: str | None
) -> None:
    receiver.answers = [answer(status, Location=receiver.url)]
    with running("listen", "--forward-to", receiver.url, **settings) as listening:
        listening.line_with("Ready")
        first, second = happens(), happens()
        line = listening.line()
        assert (first in line, f" {status} " in line) == (True, True)
        assert remark is None or remark in line
        assert second in listening.line()
    assert [each.headers["Service-Event-Id"] for each in receiver.received] == [first, second]


def test_receiver_that_closes_connection_gets_event_only_once(
    settings: dict[str, str], receiver: Receiver, happens: Happening
) -> None:
    receiver.answers = [lambda handler: handler.connection.close()]
    with running("listen", "--json", "--forward-to", receiver.url, **settings) as listening:
        listening.line()
        first = json.loads(_line_after(listening, happens))
        second = json.loads(_line_after(listening, happens))
    assert (first["status_code"], first["error"]) == (None, "the connection was closed before an answer")
    assert second["status_code"] == 200
    assert len(receiver.received) == 2


def test_types_can_be_chosen(settings: dict[str, str], receiver: Receiver, happens: Happening) -> None:
    arguments = (
        "listen",
        "--json",
        "--events",
        "payment.failed,payment.expired",
        "--forward-to",
        receiver.url,
    )
    with running(*arguments, **settings) as listening:
        listening.line()
        happens("paid")
        expected = [happens("failed"), happens("expired")]
        assert [json.loads(listening.line())["event_id"] for _ in expected] == expected
    assert [each.headers["Service-Event-Id"] for each in receiver.received] == expected


def test_what_waits_is_left_for_the_next_time(
    settings: dict[str, str], receiver: Receiver, happens: Happening
) -> None:
    before = happens()
    with running("listen", "--forward-to", f"localhost:{free_port()}", **settings) as listening:
        listening.line_with("Ready")
        waiting = happens()
        assert waiting in listening.line_with("No server at", "err")
        assert listening.interrupt() == 0
        assert listening.rest("err") == [f"Ended after 0 events. Go on from here with --since {before}"]
    with running(
        "listen", "--json", "--since", before, "--forward-to", receiver.url, **settings
    ) as listening:
        listening.line()
        assert json.loads(listening.line())["event_id"] == waiting


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_and_can_go_on_where_it_ended(
    settings: dict[str, str], receiver: Receiver, happens: Happening, number: int
) -> None:
    with running("listen", "--forward-to", receiver.url, **settings) as listening:
        listening.line_with("Ready")
        first = happens()
        assert first in listening.line()
        assert listening.interrupt(number) == 0
        (ended,) = listening.rest("err")
    assert ended == f"Ended after 1 event. Go on from here with --since {first}"
    missed = [happens(), happens()]
    with running("listen", "--json", "--since", first, "--forward-to", receiver.url, **settings) as listening:
        listening.line()
        assert [json.loads(listening.line())["event_id"] for _ in missed] == missed
    assert [each.headers["Service-Event-Id"] for each in receiver.received] == [first, *missed]


def test_a_revoked_key_ends_it(settings: dict[str, str], receiver: Receiver) -> None:
    unknown = {**settings, "QUITTANCE_API_KEY": "quitt_" + "0" * 40}
    with running("listen", "--forward-to", receiver.url, **unknown) as listening:
        assert "api_key_invalid" in listening.line("err")
        assert listening.process.wait(timeout=20) == 1
        assert "QUITTANCE_API_KEY" in listening.line("err")


@pytest.mark.parametrize("secret", ["whsec_short", "s3cret", "whsec_" + "é" * 32])
def test_a_malformed_secret_is_refused_and_not_shown(
    settings: dict[str, str], tmp_path: Path, secret: str
) -> None:
    (tmp_path / "secret").write_text(secret)
    arguments = ("listen", "--secret-file", str(tmp_path / "secret"), "--forward-to", "localhost:1")
    with running(*arguments, **settings) as listening:
        said = listening.line("err")
        assert listening.process.wait(timeout=20) == 2
    assert "whsec_ and 32" in said
    assert secret not in said


def _told(received: Received) -> dict[str, str]:
    """Return the headers, without those that differ between deliveries."""
    headers = {**received.headers, "Service-Signature": received.signature[:2]}
    headers.pop("Connection", None)  # belongs to the connection
    return headers


def _line_after(listening: Command, happens: Happening) -> str:
    happens()
    return listening.line()
