"""Measure the verification of 1,000 payments: the round trips to the nodes, and the payments per second.

`make bench`, or `python -m demo.services python -m bench.verification_cost [PAYMENTS]`.

The payments are real transactions on a local chain. Each is in a separate block, which is the most expensive case,
because each block must be queried. A proxy before the node counts the HTTP requests.

The floor (the least possible time) is measured in the same run. To measure it, a loop sends the engine's own calls
again as batches of bare JSON-RPC on one connection, and only parses the responses.
"""

import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

_SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "DEBUG": "false",
    "ENVIRONMENT": "staging",
    "BASE_URL": "http://localhost",
    "CHECKOUT_URL": "http://localhost",
    "ALLOW_HTTP_URLS": "true",
    "EMAIL_URL": "memorymail://",
    "LOG_LEVEL": "ERROR",
}
PAYMENTS = 1000


def main(count: int) -> None:
    from django.core.management import call_command

    from chains.models import Chain, Token
    from demo.services import anvil
    from merchants.models import Merchant
    from tests.chain import LocalChain
    from tests.support.nodes.crowds import crowd
    from tests.support.nodes.networks import nodes_before

    call_command("migrate", verbosity=0)
    running = anvil.start()
    try:
        local = LocalChain.prepare(running.url, running.chain_id)
        chain = Chain.objects.create(
            id=local.chain_id, name="Local", chain_type="evm", native_symbol="ETH", confirmations="1000000"
        )
        usdc = Token.objects.create(
            chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=local.usdc
        )
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        print(f"paying {count} requests on the local chain…", flush=True)
        crowd(Merchant.objects.create(name="Bench"), usdc, local, count)
        print(f"\n{'':34}{'round trips':>12}{'per payment':>13}{'payments/s':>12}{'floor/s':>10}{'share':>8}")
        with nodes_before(local, 3) as nodes:
            _measure(f"{count} waiting, 1 node", nodes[:1], chain, count)
            _measure(f"{count} waiting, 3 nodes, 2 agree", nodes, chain, count)
            Chain.objects.filter(pk=chain.pk).update(confirmations="1")
            _measure(f"{count} completing, 1 node", nodes[:1], chain, count)
    finally:
        running.stop()


def _measure(name: str, nodes: list[Any], chain: Any, count: int) -> None:
    """Look up each payment once, and print the costs."""
    from django.utils import timezone

    from payments.models import Lookup
    from tests.support.nodes.networks import client_of
    from tests.verifying import verify_due

    Lookup.objects.filter(next_check_at__isnull=False).update(next_check_at=timezone.now())
    client = client_of(nodes, chain.id, timezone.now)
    client.look_up([], with_finality=False)
    for node in nodes:
        node.asked.clear()
        node.bodies.clear()
    seconds = _timed(lambda: _look_at_all(count, lambda: verify_due(client=lambda _: client)))
    round_trips = sum(node.round_trips for node in nodes)
    asked = [(node.url, list(node.bodies)) for node in nodes]
    floor = _timed(lambda: [_ask_again(url, bodies) for url, bodies in asked])
    print(
        f"{name:34}{round_trips:12}{round_trips / count:13.3f}{count / seconds:12.0f}{count / floor:10.0f}"
        f"{floor / seconds:8.0%}",
        flush=True,
    )


def _look_at_all(count: int, look: Callable[[], int]) -> None:
    looked_at = 0
    while looked_at < count:
        looked_at += look()


def _ask_again(url: str, bodies: list[Any]) -> None:
    import requests

    with requests.Session() as session:
        for body in bodies:
            session.post(url, json=body, timeout=60).json()


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    import django

    django.setup()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAYMENTS)
