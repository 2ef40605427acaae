"""The web process as in production. Slow clients don't delay others, and each request is read to its exact end."""

import json
import select
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from merchants.models import ApiKey
from payments.models import PaymentRequest
from tests.processes import eventually
from tests.support.api.fixtures import CREATE
from tests.support.api.served import Service
from tests.support.docs.pages import REPOSITORY

pytestmark = pytest.mark.django_db(transaction=True)

Order = Callable[..., dict[str, Any]]

MANY = 40
PATIENCE = 5.0  # longer than a response on a busy machine, far shorter than slow clients
POST = b"POST /api/public/discover-wallet-tokens HTTP/1.1\r\nHost: testserver\r\nContent-Type: application/json\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: testserver\r\n\r\n"
LARGE_FILE = REPOSITORY / "checkout/static/checkout/walletconnect.js"
LARGE = b"GET /static/checkout/walletconnect.js HTTP/1.1\r\nHost: testserver\r\nConnection: close\r\n\r\n"
UNFINISHED = {
    "no bytes": b"",
    "heads": POST + b"X-Slow: ",
    "bodies": POST + b"Content-Length: 1000\r\n\r\n{",
    "chunked bodies": POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{",
    "chunk sizes": POST + b"Transfer-Encoding: chunked\r\n\r\n1",
}


Connect = Callable[..., socket.socket]


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[Service]:
    """A service that the test can stop."""
    running = Service(tmp_path / "web.log")
    try:
        yield running
    finally:
        running.process.kill()


@pytest.fixture
def connect(service: Service) -> Iterator[Connect]:
    """Return a function that opens a connection, to this or another service, and sends these bytes."""
    with ExitStack() as stack:

        def connect(sent: bytes, to: Service = service) -> socket.socket:
            port = int(to.url.rsplit(":", 1)[1])
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            connection.sendall(sent)
            return connection

        yield connect


def read_to_end(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def last_words(connection: socket.socket) -> bytes:
    """Return the server's last bytes. If a client still sends after the end, it is reset and may miss them."""
    try:
        return read_to_end(connection)
    except ConnectionResetError:
        return b""


def statuses(answers: bytes) -> list[int]:
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


def is_healthy(service: Service) -> bool:
    return requests.get(service.url + "/healthz", timeout=PATIENCE).ok


# --- slow clients -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", UNFINISHED)
def test_forty_slow_clients_leave_the_threads_to_others(
    service: Service, connect: Connect, what: str
) -> None:
    slow = [connect(UNFINISHED[what]) for _ in range(MANY)]
    for _ in range(20):
        for connection in slow:
            connection.send(UNFINISHED[what] and b"1")
        assert is_healthy(service)


def test_connection_is_kept_after_slowly_read_response(service: Service) -> None:
    port = int(service.url.rsplit(":", 1)[1])
    with closing(socket.socket()) as client:
        client.settimeout(30)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
        client.connect(("127.0.0.1", port))
        client.sendall(LARGE.replace(b"Connection: close\r\n", b""))
        whole = LARGE_FILE.read_bytes()
        received = b""
        while not received.endswith(whole[-1000:]):
            received += client.recv(4096)
        assert received.endswith(whole)
        client.sendall(GET)
        assert client.recv(4096).startswith(b"HTTP/1.1 200")


def test_forty_clients_that_read_nothing_block_no_threads(service: Service) -> None:
    """Each response is larger than the kernel's buffers. The packets are as small as on the Internet."""
    port = int(service.url.rsplit(":", 1)[1])
    with ExitStack() as stack:
        slow = []
        for _ in range(MANY):
            client = stack.enter_context(socket.socket())
            client.settimeout(30)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
            client.connect(("127.0.0.1", port))
            client.sendall(LARGE)
            slow.append(client)
        eventually(
            lambda: all(select.select([client], [], [], 0)[0] for client in slow), "all are being answered"
        )
        began = time.monotonic()
        assert requests.get(service.url + "/healthz", timeout=30).ok
        assert time.monotonic() - began < PATIENCE
        head, _, body = read_to_end(slow[-1]).partition(b"\r\n\r\n")
        assert f"Content-Length: {len(body)}".encode() in head
        assert body == LARGE_FILE.read_bytes()


def test_a_request_that_takes_longer_than_ten_seconds_is_cut_off(connect: Connect) -> None:
    """It is cut off even if it arrives steadily."""
    began = time.monotonic()
    slow = {connect(UNFINISHED[what]): what for what in ("heads", "bodies", "chunked bodies")}
    silent = connect(b"")
    cut = {}
    answers = selectors.DefaultSelector()
    for connection in slow:
        answers.register(connection, selectors.EVENT_READ)
    while len(cut) < len(slow):
        assert time.monotonic() - began < 60, "it is received for ever"
        for answered, _ in answers.select(0.5):
            connection = next(each for each in slow if each is answered.fileobj)
            answers.unregister(connection)
            cut[connection] = time.monotonic() - began
            assert statuses(last_words(connection)) in ([408], []), slow[connection]
        for connection in slow.keys() - cut.keys():
            with suppress(ConnectionError):  # cut off since the last check; the next one notices
                connection.send(b"1" if slow[connection] == "heads" else b" ")
    assert min(cut.values()) >= 9.5
    assert read_to_end(silent) == b""


def test_idle_connection_does_not_delay_other_clients(service: Service, connect: Connect) -> None:
    last = b"GET /healthz HTTP/1.1\r\nHost: testserver\r\nConnection: close\r\n\r\n"
    staying = [connect(last) for _ in range(MANY)]
    for _ in range(5):
        assert is_healthy(service)
    for connection in staying:
        assert statuses(read_to_end(connection)) == [200]


def test_oldest_unfinished_connections_close_at_capacity(service: Service, connect: Connect) -> None:
    """There are more clients than the worker's limit on connections, and none finishes its request."""
    slow = [connect(UNFINISHED["bodies"]) for _ in range(1050)]
    for _ in range(5):
        assert is_healthy(service)
    slow[0].settimeout(PATIENCE)
    answer = read_to_end(slow[0])
    assert statuses(answer) == [408]
    assert b"X-Request-Id: req_" in answer


# --- whole requests ---------------------------------------------------------------------------------------------------


def chunked(body: bytes, size: int) -> Iterator[bytes]:
    return (body[begin : begin + size] for begin in range(0, len(body), size))


def test_a_chunked_body_is_read(service: Service, api_key: tuple[ApiKey, str], order: Order) -> None:
    headers = {"X-API-Key": api_key[1], "Content-Type": "application/json"}
    body = json.dumps(order(description="é" * 100)).encode()
    for size in (1, 7, 4096):
        answer = requests.post(service.url + CREATE, data=chunked(body, size), headers=headers, timeout=30)
        assert answer.status_code == 201, answer.content
        assert answer.json()["description"] == "é" * 100
    assert PaymentRequest.objects.count() == 3


@pytest.mark.parametrize(
    ("way", "length"),
    [("chunked", 64 * 1024 + 1), ("chunked", 3 * 1024 * 1024), ("with its length", 3 * 1024 * 1024)],
)
def test_a_body_over_64_kib_is_413_chunked_or_not(
    service: Service, api_key: tuple[ApiKey, str], order: Order, length: int, way: str
) -> None:
    headers = {"X-API-Key": api_key[1], "Content-Type": "application/json"}
    body = json.dumps(order()).encode().ljust(length)
    data: Any = chunked(body, 8192) if way == "chunked" else body
    answer = requests.post(service.url + CREATE, data=data, headers=headers, timeout=30)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")
    assert answer.headers["X-Request-Id"] == answer.json()["error"]["request_id"]
    assert not PaymentRequest.objects.exists()


def test_a_chunked_body_of_exactly_64_kib_is_taken(
    service: Service, api_key: tuple[ApiKey, str], order: Order
) -> None:
    headers = {"X-API-Key": api_key[1], "Content-Type": "application/json"}
    body = json.dumps(order()).encode().ljust(64 * 1024)
    answer = requests.post(service.url + CREATE, data=chunked(body, 1000), headers=headers, timeout=30)
    assert answer.status_code == 201, answer.content


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding : chunked",
        b"Transfer-Encoding:\x0bchunked",
    ],
)
def test_an_ambiguous_body_ends_the_connection(connect: Connect, framing: bytes) -> None:
    """No second response may follow, because a proxy may assume another end of the body."""
    answers = read_to_end(connect(POST + framing + b"\r\n\r\n0\r\n\r\n" + GET + GET))
    (status,) = statuses(answers)
    assert status in (400, 501)


def test_pipelined_requests_are_served_in_order(connect: Connect) -> None:
    first = POST + b"Content-Length: 2\r\n\r\n{}"
    second = POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    last = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    assert statuses(read_to_end(connect(first + second + GET + first + last))) == [400, 400, 200, 400, 200]


def test_client_cannot_choose_the_path_with_script_name(service: Service) -> None:
    for name in ("SCRIPT_NAME", "PATH_INFO"):
        response = requests.get(f"{service.url}/x/healthz", headers={name: "/x"}, timeout=PATIENCE)
        assert response.status_code == 404


# --- stopping ---------------------------------------------------------------------------------------------------------


def test_a_stop_cuts_no_request_short(ending: Service, connect: Connect) -> None:
    arriving = [connect(POST + b"Content-Length: 2\r\n\r\n{", ending) for _ in range(5)]
    kept = connect(GET, ending)
    assert statuses(kept.recv(65536)) == [200]
    ending.process.ask_to_stop()
    while kept.recv(65536):  # until the worker, which is stopping, closes it
        pass
    for connection in arriving:
        connection.sendall(b"}")
    assert [statuses(read_to_end(connection)) for connection in arriving] == [[400]] * 5
    assert ending.process.wait(30) == 0


def test_a_stop_waits_for_slow_clients_no_longer_than_they_have(ending: Service, connect: Connect) -> None:
    for unfinished in UNFINISHED.values():
        connect(unfinished, ending)
    assert is_healthy(ending)
    ending.process.ask_to_stop()
    assert ending.process.wait(30) == 0
