"""`quittance listen`: forward this merchant's events to a local server as they happen."""

import argparse
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from urllib.parse import urlsplit

from quittance import retries
from quittance.cli.forwarding import Forwarded, Forwarder, NobodyThere
from quittance.cli.output import Output
from quittance.cli.parser import Commands, Parser
from quittance.cli.settings import SettingsError, client_of, webhook_secret
from quittance.client import Client
from quittance.errors import APIConnectionError, QuittanceError
from quittance.objects import Event

POLL_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
_TIMEOUT_SECONDS = 15.0


def add(commands: Commands) -> Parser:
    """Describe the command."""
    parser = commands.add_parser(
        "listen",
        help="forward this merchant's events to a local server",
        description=(
            "Polls this merchant's events and forwards each to a local server, signed like a real delivery. Your "
            "server needs no public address. The command prints the secret with which your server verifies the "
            "signatures."
        ),
    )
    parser.add_argument(
        "--forward-to", metavar="URL", required=True, help="local URL, such as localhost:8000/webhooks"
    )
    parser.add_argument(
        "--events", metavar="TYPES", help="only events of these types, separated by commas (default: all)"
    )
    parser.add_argument(
        "--since", metavar="EVENT_ID", help="forward the events after this one (default: only new events)"
    )
    parser.add_argument(
        "--secret-file",
        metavar="FILE",
        help=(
            "file with the signing secret, whsec_… (default: QUITTANCE_WEBHOOK_SECRET; if that is not set, a new "
            "secret)"
        ),
    )
    parser.set_defaults(run=run)
    return parser


def run(options: argparse.Namespace, out: Output) -> int:
    """Forward events until Ctrl-C."""
    url = _local_url(options.forward_to)
    secret, is_new = webhook_secret(options)
    types = {each.strip() for each in options.events.split(",")} if options.events else None
    # Switch off the client's retries, because this command retries itself, and reports outages.
    client = client_of(options, timeout=_TIMEOUT_SECONDS, max_retries=0)
    with _until_interrupted() as stop, client:
        listener = Listener(client, Forwarder(url, secret), out, stop, types)
        listener.begin(options.since)
        _introduce(out, client, url, secret, is_new)
        try:
            listener.run()
        finally:
            listener.say_where_it_ended()
    return 0


class Listener:
    """Reads the events in their order and forwards each once.

    The API lists events in the order of their commits. So the only position to store is the last forwarded event. After
    any response, an event counts as forwarded. If no server listens, the event and all later events wait for a server.
    So each event is forwarded once and in order.
    """

    def __init__(
        self, client: Client, forwarder: Forwarder, out: Output, stop: threading.Event, types: set[str] | None
    ) -> None:
        self._client, self._forwarder, self._out, self._stop = client, forwarder, out, stop
        self._types = types
        self._last: str | None = None
        self._count = 0

    def begin(self, since: str | None) -> None:
        """Start after the event `since`. If `since` is None, start after the newest event."""
        if since:
            self._last = self._client.events.retrieve(since).id
            return
        newest = self._client.events.list(limit=1).data
        self._last = newest[0].id if newest else None

    def run(self) -> None:
        """Poll and forward until stopped. Raises QuittanceError for permanent errors."""
        failures = 0
        while not self._stop.is_set():
            try:
                for event in self._new_events():
                    self._deal_with(event)
                    if self._stop.is_set():
                        return
            except QuittanceError as error:
                if not _is_outage(error):
                    raise
                failures += 1
                if failures == 1:
                    self._out.remark(f"Quittance can't be asked for events, trying on: {error}")
                self._stop.wait(retries.delay(failures, error.retry_after, longest=LONGEST_PAUSE_SECONDS))
                continue
            if failures:
                self._out.remark("Quittance answers again.")
                failures = 0
            self._stop.wait(POLL_SECONDS)

    def say_where_it_ended(self) -> None:
        """Print the option `--since` with which the next run continues after the last forwarded event."""
        events = "1 event" if self._count == 1 else f"{self._count} events"
        again = f" Go on from here with --since {self._last}" if self._last else ""
        self._out.remark(f"Ended after {events}.{again}")

    def _new_events(self) -> Iterator[Event]:
        """Yield the events after the last forwarded one, oldest first."""
        if self._last:
            return self._client.events.list(ending_before=self._last, limit=100).auto_paging_iter()
        # When the command started, there were no events. So all events are new.
        return iter(list(self._client.events.list(limit=100).auto_paging_iter())[::-1])

    def _deal_with(self, event: Event) -> None:
        if self._types is None or event.type in self._types:
            forwarded = self._forward(event)
            if forwarded is None:
                return
            self._count += 1
            self._report(event, forwarded)
        self._last = event.id

    def _forward(self, event: Event) -> Forwarded | None:
        """Forward `event`.

        If no server listens, wait for a server. Return None if the command is stopped before that.
        """
        failures = 0
        while not self._stop.is_set():
            try:
                return self._forwarder.forward(event)
            except NobodyThere as problem:
                failures += 1
                if failures == 1:
                    self._out.remark(
                        f"No server at {self._forwarder.url} ({problem}). {event.id} is retried until one answers."
                    )
                self._stop.wait(retries.delay(failures, longest=POLL_SECONDS * 2))
        return None

    def _report(self, event: Event, forwarded: Forwarded) -> None:
        if self._out.as_json:
            self._out.json({"event_id": event.id, "type": event.type, **forwarded.to_dict()})
            return
        subject = event.data.object
        about = subject.reference or subject.payment_request or ""
        answer, took = forwarded.status_code or "---", f"{forwarded.duration_ms} ms"
        line = f"{time.strftime('%H:%M:%S')}  {event.type:<22}  {event.id}  {answer}  {took:>8}  {about}".rstrip()
        self._out.line(f"{line}  ({forwarded.error})" if forwarded.error else line)


def _introduce(out: Output, client: Client, url: str, secret: str, is_new: bool) -> None:
    if out.as_json:
        known = {"secret": secret} if is_new else {}
        out.json({"listening_to": client.base_url, "forwarding_to": url, **known})
        return
    out.line(f"Forwarding this merchant's events from {client.base_url} to {url}")
    if is_new:
        out.line(f"Verify them with {secret}")
        out.line("  It is new. QUITTANCE_WEBHOOK_SECRET or --secret-file keeps it the same next time.")
    else:
        out.line("They are signed with the secret that you gave.")
    out.line("Ready. Ctrl-C ends.")


def _is_outage(error: QuittanceError) -> bool:
    if isinstance(error, APIConnectionError):
        return True
    return error.status is not None and retries.is_temporary(error.status, error.code)


def _local_url(text: str) -> str:
    url = text if "://" in text else f"http://{text}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise SettingsError("--forward-to should be an address such as http://localhost:8000/webhooks.")
    return url


@contextmanager
def _until_interrupted() -> Iterator[threading.Event]:
    """Yield an event. The first Ctrl-C or TERM sets the event. Ctrl-C after that interrupts immediately."""
    stop = threading.Event()

    def stop_soon(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal module's interface
        # Set the event in another thread. This handler runs in the main thread, which may hold the event's lock, and
        # would deadlock.
        threading.Thread(target=stop.set).start()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, stop_soon) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
