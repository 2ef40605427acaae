"""Measure calls of the API with 16 clients. Compare each with a bare Django REST framework view on the same server.

`python -m demo.services python -m bench.api_calls [SECONDS] [CALL…]`. Both servers run all the time, as in production
(`config/gunicorn.py`). The clients call them by turns, so that a busy machine slows down both. The bare views are in
`bench/floor`, and have no middleware, authentication or limits. If a call needs the database, its bare view executes
one SQL statement.

For each call, the benchmark prints responses per second, CPU per response of all web processes, and latency. It also
prints the call's rate divided by the bare view's rate.
"""

import http.client
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo.services.process import free_port

CLIENTS = 16
SECONDS = 2.0
ROUNDS = 3
SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DEBUG": "false",
    "ENVIRONMENT": "staging",
    "BASE_URL": "http://localhost",
    "CHECKOUT_URL": "http://localhost",
    "ALLOWED_HOSTS": "127.0.0.1",
    "ALLOW_HTTP_URLS": "true",
    "RATE_LIMIT_API": "1000000/second",
    "RATE_LIMIT_PUBLIC": "1000000/second",
}
_RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

Request = tuple[str, str, dict[str, str], str]


@dataclass
class Sum:
    """The results of one server for one call, added up over all rounds."""

    answers: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Responses per second."""
        return self.answers / self.seconds

    @property
    def cpu_ms(self) -> float:
        """CPU milliseconds of all web processes, per response."""
        return self.cpu * 1000 / self.answers


@dataclass(frozen=True)
class Server:
    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """The CPU time that the server's processes have used."""
        return sum(_cpu_seconds(pid) for pid in _group(self.process.pid))


@contextmanager
def running(module: str) -> Iterator[Server]:
    """Run the web process with `module` as its settings module."""
    port = free_port()
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": module, "PORT": str(port)}
    command = [sys.executable, "-m", "config.server", "--config", "config/gunicorn.py"]
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(port)
        yield Server(port, child)
    finally:
        child.terminate()
        with suppress(subprocess.TimeoutExpired):
            child.wait(30)
        child.kill()


def _await(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            return
        time.sleep(0.1)
    raise TimeoutError("the web server did not start")


def _group(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children")
    return [pid, *(int(child) for child in children.read_text().split())]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(server: Server, requests: Sequence[Request], seconds: float, expected: int) -> Sum:
    """Call the server for this many seconds over 16 connections."""
    before = server.cpu_seconds()
    command = [sys.executable, "-m", "bench.http_load", str(server.port), str(CLIENTS), str(seconds)]
    answer = json.loads(
        subprocess.run(
            command, input=json.dumps(requests).encode(), stdout=subprocess.PIPE, check=True
        ).stdout
    )
    if set(answer["statuses"]) != {str(expected)}:
        raise RuntimeError(f"{requests[0][:2]} answered {answer['statuses']}")
    cpu = server.cpu_seconds() - before
    return Sum(answer["statuses"][str(expected)], answer["seconds"], cpu, answer["latencies_ms"])


@dataclass(frozen=True)
class Call:
    """A call of the API, and the bare view to compare."""

    name: str
    requests: list[Request]
    floor: list[Request]
    goal: float
    status: int = 200
    floor_status: int = 200


def calls() -> list[Call]:
    """Create the objects that the calls need, and return the calls."""
    from datetime import timedelta

    from django.core.management import call_command

    from chains.models import Chain, Token
    from merchants.models import Merchant
    from merchants.services import issue_key
    from payments.requests.creation import NewRequest, create_request

    call_command("migrate", verbosity=0)
    chain, _ = Chain.objects.get_or_create(
        id=31337, name="Local", chain_type="evm", native_symbol="ETH", rpc_urls=["http://127.0.0.1:9"]
    )
    token, _ = Token.objects.get_or_create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=_RECIPIENT[:-1] + "9"
    )
    merchant = Merchant.objects.create(name="Bench")
    _, key = issue_key(merchant=merchant, permissions=["create_payments"])
    order = NewRequest(
        token=token,
        amount=25_000_000,
        recipient_address=_RECIPIENT,
        lifetime=timedelta(hours=1),
        external_id="order-1042",
        description="Two mugs",
        metadata={"cart": "42"},
        redirect_url="http://shop.example/thanks",
    )
    rows = [create_request(merchant, order, actor="bench") for _ in range(60)]
    mine = {"X-API-Key": key}
    body = json.dumps(
        {
            "amount": "25.00",
            "token_id": token.pk,
            "chain_id": chain.pk,
            "recipient_address": _RECIPIENT,
            "external_id": "order-1042",
            "description": "Two mugs",
            "metadata": {"cart": "42"},
            "redirect_url": "http://shop.example/thanks",
        }
    )
    json_body = {"Content-Type": "application/json"}
    new: list[Request] = [("POST", f"/new/{merchant.pk}", json_body, body)]
    one: list[Request] = [("GET", f"/one/{row.pk}", {}, "") for row in rows]
    many: list[Request] = [("GET", f"/many/{merchant.pk}", {}, "")]
    paths = [f"/api/public/payment-requests/{row.pk}" for row in rows]
    create = ("POST", "/api/payment-requests", {**mine, **json_body}, body)
    once = ("POST", "/api/payment-requests", {**mine, **json_body, "Idempotency-Key": "bench-{n}"}, body)
    return [
        Call("create", [create], new, 0.75, 201, 201),
        Call("create, Idempotency-Key", [once], new, 0.65, 201, 201),
        Call("get", [("GET", f"/api/payment-requests/{row.pk}", mine, "") for row in rows], one, 0.9),
        Call("list of 20", [("GET", "/api/payment-requests", mine, "")], many, 0.8),
        Call("details, changed", [("GET", path, {}, "") for path in paths], one, 1.0),
        Call("details, same ETag", _with_etags, one, 1.0, 304),  # type: ignore[arg-type]
        Call("checkout page", [("GET", f"/pay/{row.shortcode}", {}, "") for row in rows], one, 0.4),
    ]


def _with_etags(server: Server, paths: Sequence[str]) -> list[Request]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    asked: list[Request] = []
    for path in paths:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        asked.append(("GET", path, {"If-None-Match": answer.headers["ETag"]}, ""))
    return asked


def main(seconds: float, names: Sequence[str]) -> None:
    measured = [call for call in calls() if not names or call.name.split(",")[0] in names]
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {CLIENTS} clients"
    )
    print(
        f"\n{'':26}{'calls/s':>9}{'floor/s':>9}{'ratio':>7}{'goal':>6}{'CPU ms':>8}{'floor':>7}{'p50 ms':>8}{'p95':>7}"
    )
    with running("config.settings") as ours, running("bench.floor.settings") as bare:
        changed = next((call.requests for call in measured if call.name == "details, changed"), [])
        for call in measured:
            requests: Any = call.requests
            if callable(requests):
                requests = requests(ours, [path for _, path, _, _ in changed])
            _compare(call, requests, ours, bare, seconds)


def _compare(call: Call, requests: Sequence[Request], ours: Server, bare: Server, seconds: float) -> None:
    load(ours, requests, 0.5, call.status)  # a warm-up, not measured
    load(bare, call.floor, 0.5, call.floor_status)
    product, floor = Sum(), Sum()
    for _ in range(ROUNDS):
        for total, server, asked, status in (
            (product, ours, requests, call.status),
            (floor, bare, call.floor, call.floor_status),
        ):
            part = load(server, asked, seconds / ROUNDS, status)
            total.answers += part.answers
            total.seconds += part.seconds
            total.cpu += part.cpu
            total.latencies = part.latencies
    p50, p95 = product.latencies
    print(
        f"{call.name:26}{product.rate:9.0f}{floor.rate:9.0f}{product.rate / floor.rate:7.2f}{call.goal:6.2f}"
        f"{product.cpu_ms:8.2f}{floor.cpu_ms:7.2f}{p50:8.1f}{p95:7.1f}",
        flush=True,
    )


if __name__ == "__main__":
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    import django

    django.setup()
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS * ROUNDS, sys.argv[2:])
