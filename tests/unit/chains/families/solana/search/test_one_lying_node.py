"""One of three nodes of a cluster hides payments or invents a slot. The search still finds each payment."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from solders.signature import Signature

from chains.client import ChainError, Head, Snapshot, TransactionFacts, Watch
from chains.families.solana.client import SolanaClient
from chains.rpc.json_rpc import Call, JsonRpc

PAID = str(Signature.default())
WATCH = Watch(b"r" * 16, "", "1" * 32)
URLS = [f"http://node{number}.invalid" for number in range(3)]


def client(monkeypatch: pytest.MonkeyPatch, respond: Sequence[Callable[[str], Any]]) -> SolanaClient:
    def batch(rpc: JsonRpc, calls: Sequence[Call], read: Callable[[list[Any]], Any]) -> Any:
        failure = ChainError("no node")
        for url in rpc.urls:
            try:
                return read([respond[URLS.index(url)](method) for method, _ in calls])
            except ChainError as error:
                failure = error
        raise failure

    monkeypatch.setattr(JsonRpc, "batch", batch)
    monkeypatch.setattr(JsonRpc, "_compare_heads", lambda _: None)
    # A lookup returns an unreadable transaction, which may pay.
    facts = TransactionFacts(PAID, "", None, None, True, (), is_readable=False)
    looked_up = Snapshot(Head(1), {PAID: facts}, frozenset())
    monkeypatch.setattr("chains.families.solana.discovery._settled", lambda *_: facts)
    monkeypatch.setattr(SolanaClient, "look_up", lambda *_, **__: looked_up)
    return SolanaClient(URLS, 1, "private")


def response(method: str, *, slot: int = 100, listed: Sequence[str] = (PAID,), is_down: bool = False) -> Any:
    if is_down:
        raise ChainError("the node is down")
    if method == "getSlot":
        return slot
    if method == "getSignatureStatuses":
        return {"value": [{"slot": 1}]}
    return [{"signature": each, "slot": 1, "err": None} for each in listed]


LIARS = [partial(response, listed=(), slot=600), partial(response, is_down=True)]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("liar", LIARS, ids=["lying", "down"])
def test_signature_that_one_of_three_nodes_hides_is_found(
    monkeypatch: pytest.MonkeyPatch, liar: Callable[[str], Any], place: int
) -> None:
    respond: list[Callable[[str], Any]] = [response, response, response]
    respond[place] = liar
    searching = client(monkeypatch, respond)
    assert searching.discover([WATCH], since_block=None).doubtful == ((WATCH.reference, PAID),)
    assert searching.head() == 100
