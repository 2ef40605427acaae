"""Measure the lookup of a wallet's 1,000 tokens on one chain: the round trips to the node, and the time.

`make bench`, or `python -m demo.services python -m bench.discovery_cost [TOKENS]`.

The tokens are real contracts on a local chain, and the wallet has some of them. The client makes one lookup before the
measurement, because its first lookup also queries heads and chain ids. These extra queries should not count. A proxy
before each node counts the HTTP requests.

The floor (the least possible time) is measured in the same run. To measure it, a loop repeats the client's requests as
bare JSON-RPC on one connection, and only parses the responses. Two other times are printed to compare: the fastest
possible query (one `eth_getBalance`), and a client that queries each token separately, in batches of 100.
"""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address

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
TOKENS = 1000
HELD = 20
HOSTILE = 50
LOOKS = 9
_BATCH = 100
_ENDLESS_LOOP = "0x5b5f56"


@dataclass(frozen=True)
class Cost:
    """One lookup: the number of HTTP requests and their duration. `floor` is the duration without the client."""

    round_trips: int
    seconds: float
    floor: float


def main(count: int) -> None:
    from demo.services import anvil
    from tests.chain import LocalChain
    from tests.fault_proxy import refuse_creation
    from tests.support.nodes.networks import nodes_before

    running = anvil.start()
    try:
        local = LocalChain.prepare(running.url, running.chain_id)
        tokens = place_tokens(local, count)
        mixed = [*_place(local, "0xbad", HOSTILE, _ENDLESS_LOOP), *tokens[HOSTILE:]]
        print(f"\n{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        print(
            f"a wallet's balances of {count} tokens and the native coin, {HELD} of them held; median of {LOOKS} looks"
        )
        print(f"\n{'':34}{'round trips':>12}{'ms':>10}{'floor ms':>10}{'share':>8}")
        with nodes_before(local, 3) as nodes:
            _print(f"{count} tokens, 1 node", cost(local, nodes[:1], tokens))
            _print(f"{count} tokens, 3 nodes", cost(local, nodes, tokens))
            _print(f"{HOSTILE} of them burn all their gas", cost(local, nodes[:1], mixed))
            nodes[0].break_with(refuse_creation)
            _print("a node that refuses the multicall", cost(local, nodes[:1], tokens))
            nodes[0].heal()
            for name, bodies in _comparisons(local, tokens).items():
                asked = [(nodes[0].url, bodies)]
                print(
                    f"{name:34}{len(bodies):12}{'':10}{1000 * _median(lambda asked=asked: _ask_again(asked)):10.1f}"
                )
    finally:
        running.stop()


def place_tokens(local: Any, count: int) -> list[str]:
    """Deploy `count` copies of a token, and return their addresses. The payer gets a balance in HELD of the copies."""
    from demo.contracts import deploy

    tokens = _place(local, "0x70ce", count, local.rpc("eth_getCode", local.usdc, "latest"))
    for token in tokens[:: max(1, count // HELD)][:HELD]:
        deploy.mint(local.url, token, local.payer, 10**6, key=local.payer_key)
    return tokens


def cost(local: Any, nodes: Sequence[Any], tokens: Sequence[str]) -> Cost:
    """Look up the payer's balances with a client that was used before. Check the result."""
    from chains.families.evm.client import EvmClient

    client = EvmClient([node.url for node in nodes], local.chain_id)

    def look() -> None:
        balances = client.balances(local.payer, ["", *tokens])
        held = sum(balance > 0 for balance in balances.values())
        if len(balances) < len(tokens) - HOSTILE or not 1 < held <= HELD + 1:
            raise SystemExit(
                f"{len(balances)} balances of {len(tokens)} tokens, {held} of them held: not the truth"
            )

    look()
    for node in nodes:
        node.asked.clear()
        node.bodies.clear()
    look()
    round_trips = sum(node.round_trips for node in nodes)
    asked = [(node.url, list(node.bodies)) for node in nodes]
    return Cost(round_trips, _median(look), _median(lambda: _ask_again(asked)))


def _place(local: Any, prefix: str, count: int, code: str) -> list[str]:
    """Deploy this code at addresses with this prefix."""
    addresses = [to_checksum_address(f"{prefix}{number:0{42 - len(prefix)}x}") for number in range(count)]
    for address in addresses:
        local.rpc("anvil_setCode", address, code)
    return addresses


def _comparisons(local: Any, tokens: Sequence[str]) -> dict[str, list[Any]]:
    """Return other requests to compare with, by name."""
    from chains.families.evm.tokens import balance_call

    calls = [balance_call(token, local.payer) for token in tokens]
    questions = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        for number, (method, params) in enumerate(calls)
    ]
    least = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [local.payer, "latest"]}
    return {"eth_getBalance alone": [least], "each token by itself": list(_batches(questions))}


def _batches(questions: list[Any]) -> Iterator[list[Any]]:
    return (questions[start : start + _BATCH] for start in range(0, len(questions), _BATCH))


def _print(name: str, cost: Cost) -> None:
    print(
        f"{name:34}{cost.round_trips:12}{1000 * cost.seconds:10.1f}{1000 * cost.floor:10.1f}"
        f"{cost.floor / cost.seconds:8.0%}",
        flush=True,
    )


def _ask_again(asked: Sequence[tuple[str, Sequence[Any]]]) -> None:
    import requests

    with requests.Session() as session:
        for url, bodies in asked:
            for body in bodies:
                session.post(url, json=body, timeout=60).json()


def _median(work: Callable[[], Any]) -> float:
    return statistics.median(_timed(work) for _ in range(LOOKS))


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    import django

    django.setup()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else TOKENS)
