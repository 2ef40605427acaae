"""Measure the time from the block that completes a payment to the webhook. 50 payments are in flight, with a block each
second.

`python -m demo.services python -m bench.block_to_webhook [ROUNDS]`. The worker and beat run as in the Procfile, with a
local chain and a receiver. In each round, 50 payments of ten merchants are mined and submitted. A few blocks later they
have enough confirmations. This process polls the chain every few milliseconds. The time when it first sees a block
counts as the block's time.

The result is compared with the floor: the fastest program that does the same. Its loop polls the head, reads the 50
receipts in one batch, and posts 50 bodies over one connection.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import requests

from bench.api_calls import SETTINGS

IN_FLIGHT = 50
# The service sends at most five deliveries to a merchant at a time, so there are several merchants.
MERCHANTS = 10
# So many confirmations leave enough time to submit all 50 payments before the last confirmation.
CONFIRMATIONS = 6
ROUNDS = 6
_ASK_SECONDS = 0.004
_ROUND_SECONDS = 30.0


class _Receiver:
    """A webhook receiver that records the arrival of each payment's event."""

    def __init__(self) -> None:
        self.arrived: dict[str, float] = {}
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                at = time.monotonic()
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.arrived[body["data"]["object"]["transaction_hash"]] = at
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()


class _Blocks:
    """Records the time when this process first saw each block of the chain."""

    def __init__(self, url: str) -> None:
        self.seen: dict[int, float] = {}
        self._url = url
        self._stopping = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()

    def _watch(self) -> None:
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}
        with requests.Session() as session:
            while not self._stopping.is_set():
                number = int(session.post(self._url, json=body, timeout=10).json()["result"], 16)
                self.seen.setdefault(number, time.monotonic())
                time.sleep(_ASK_SECONDS)


def main(rounds: int) -> None:
    from django.core.management import call_command

    from chains.models import Chain, Token
    from demo.services import anvil
    from merchants.models import Merchant
    from tests.chain import LocalChain
    from webhooks.endpoints.configuration import Change, configure

    call_command("migrate", verbosity=0)
    running = anvil.start()
    receiver = _Receiver()
    with TemporaryDirectory() as folder:
        processes: list[subprocess.Popen[bytes]] = []
        try:
            local = LocalChain.prepare(running.url, running.chain_id)
            chain = Chain.objects.create(
                id=local.chain_id,
                name="Local",
                chain_type="evm",
                native_symbol="ETH",
                rpc_urls=[running.url],
                confirmations=str(CONFIRMATIONS),
                block_time_ms=1000,
            )
            usdc = Token.objects.create(
                chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=local.usdc
            )
            merchants = [Merchant.objects.create(name=f"Bench {place}") for place in range(MERCHANTS)]
            for merchant in merchants:
                configure(merchant, Change(url=receiver.url))
            local.rpc("evm_setIntervalMining", 1)
            processes = [_start("worker", folder), _start("beat", folder)]
            blocks = _Blocks(running.url)
            _round(merchants, usdc, local, blocks, receiver)  # not measured: the processes are still starting
            waits = [wait for _ in range(rounds) for wait in _round(merchants, usdc, local, blocks, receiver)]
            floor = _floor(merchants[0], usdc, local, blocks, receiver)
            blocks.stop()
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                process.kill()
            receiver.stop()
            running.stop()
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, load {os.getloadavg()[0]:.1f}")
    print(f"{'from block to webhook, ms':28}{'p50':>8}{'p95':>8}{'p99':>8}")
    for name, values in (("50 payments in flight", waits), ("floor", floor)):
        print(f"{name:28}" + "".join(f"{1000 * _share(values, share):8.0f}" for share in (0.5, 0.95, 0.99)))
    print("goal                             100     250")


def _round(merchants: list[Any], token: Any, local: Any, blocks: _Blocks, receiver: _Receiver) -> list[float]:
    """Pay 50 requests. Return the delay of each webhook after the block with the last confirmation."""
    from payments.models import Lookup
    from tests.support.nodes.crowds import crowd

    each_has = IN_FLIGHT // len(merchants)
    payments = [paid for merchant in merchants for paid in crowd(merchant, token, local, each_has)]
    hashes = [payment.transaction_hash for payment in payments]
    until = time.monotonic() + _ROUND_SECONDS
    while len(receiver.arrived.keys() & set(hashes)) < IN_FLIGHT:
        if time.monotonic() > until:
            raise TimeoutError("not every webhook came")
        time.sleep(0.05)
    decided = dict(
        Lookup.objects.filter(transaction_hash__in=hashes).values_list("transaction_hash", "block_number")
    )
    return [receiver.arrived[each] - blocks.seen[decided[each] + CONFIRMATIONS - 1] for each in hashes]


def _floor(merchant: Any, token: Any, local: Any, blocks: _Blocks, receiver: _Receiver) -> list[float]:
    from tests.support.nodes.crowds import make_request, pay_all

    waits = []
    with requests.Session() as session:
        for _ in range(3):
            wanted = [make_request(merchant, token, "1", local.recipient) for _ in range(IN_FLIGHT)]
            hashes = pay_all(local, wanted)
            asked = [
                {"jsonrpc": "2.0", "id": place, "method": "eth_getTransactionReceipt", "params": [each]}
                for place, each in enumerate(hashes)
            ]
            while True:
                answers = session.post(local.url, json=asked, timeout=10).json()
                head = max(blocks.seen)
                mined = [int(each["result"]["blockNumber"], 16) for each in answers if each["result"]]
                if len(mined) == IN_FLIGHT and head >= max(mined) + CONFIRMATIONS - 1:
                    break
                time.sleep(0.02)
            for number, each in zip(mined, hashes, strict=True):
                session.post(receiver.url, json={"data": {"object": {"transaction_hash": each}}}, timeout=10)
                waits.append(receiver.arrived[each] - blocks.seen[number + CONFIRMATIONS - 1])
    return waits


def _start(name: str, folder: str) -> subprocess.Popen[bytes]:
    commands = {
        "worker": [
            "celery",
            "-A",
            "config",
            "worker",
            "--loglevel",
            "WARNING",
            "--without-gossip",
            "--without-mingle",
        ],
        "beat": ["celery", "-A", "config.beat", "beat", "--schedule", f"{folder}/beat", "--pidfile", ""],
    }
    log = (Path(os.environ.get("BENCH_LOGS", folder)) / f"{name}.log").open("wb")
    return subprocess.Popen([sys.executable, "-m", *commands[name]], stdout=log, stderr=log)


def _share(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=100)[int(share * 100) - 1]


if __name__ == "__main__":
    for name, value in {**SETTINGS, "WEBHOOK_ALLOW_PRIVATE": "true"}.items():
        os.environ.setdefault(name, value)
    import django

    django.setup()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
