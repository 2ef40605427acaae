"""Reference search finds every payment among other transactions with the same key, and nothing else."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.signature import Signature

from chains.client import Block, ChainError, Head, Snapshot, TransactionFacts, Transfer, Watch
from chains.families.solana.discovery import ReferenceSearch
from chains.families.solana.references import reference_key
from chains.rpc.json_rpc import Call, JsonRpc

BLOCK = Block(1, "hash", datetime(2026, 1, 1, tzinfo=UTC))
NOWHERE = "1" * 32


@dataclass
class Entry:
    """A transaction in the list of a reference's key."""

    signature: str
    pays: int
    slot: int
    failed: bool = False
    token: str = ""
    recipient: str = NOWHERE
    is_readable: bool = True


@dataclass
class Node:
    """A node that lists transactions as Solana nodes do.

    It returns all of them except those in `silent` and `poison`.
    """

    lists: dict[str, list[Entry]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    poison: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    looked_at: list[str] = field(default_factory=list)
    listed: int = 0
    slot: int = 0
    most_in_a_page: int = 1000

    def add(self, watch: Watch, pays: int = 0, *, below: int = 0, slot: int = 0, **different: Any) -> str:
        """Add a transaction to the watch's key, below this number of newer ones; return its signature."""
        listed = self.lists.setdefault(reference_key(watch.reference), [])
        self.slot = slot or self.slot + 1
        entry = Entry(str(Signature.new_unique()), pays, self.slot, **different)
        listed.insert(below, entry)
        return entry.signature

    def batch(self, calls: Sequence[Call], read: Callable[[list[Any]], Any]) -> Any:
        answers = []
        for method, parameters in calls:
            if method == "getSignatureStatuses":
                [[signature], _] = parameters
                answers.append({"value": [None if signature in self.unknown else {"slot": 1}]})
            else:
                assert method == "getSignaturesForAddress"
                self.listed += 1
                answers.append(self._list(*parameters))
        return read(answers)

    def look_up(self, signatures: Sequence[str]) -> Snapshot:
        if self.poison.intersection(signatures):
            raise ChainError("the answer is too large")
        self.looked_at += signatures
        entries = {entry.signature: (key, entry) for key, listed in self.lists.items() for entry in listed}
        shown = [signature for signature in signatures if signature not in self.silent]
        facts = {signature: self._facts(*entries[signature]) for signature in shown}
        return Snapshot(Head(1), facts, frozenset(signatures) - frozenset(shown))

    def search(self) -> ReferenceSearch:
        return ReferenceSearch(cast(JsonRpc, self), self.look_up)

    def _list(self, key: str, options: dict[str, Any]) -> list[dict[str, Any]]:
        listed = self.lists.get(key, [])
        names = [entry.signature for entry in listed]
        before, until = options.get("before"), options.get("until")
        if before in self.unknown:
            return []
        start = names.index(before) + 1 if before else 0
        end = names.index(until) if until in names else len(names)
        page = listed[start : max(start, end)][: min(options["limit"], self.most_in_a_page)]
        return [
            {"signature": e.signature, "slot": e.slot, "err": {"x": 1} if e.failed else None} for e in page
        ]

    def _facts(self, key: str, entry: Entry) -> TransactionFacts:
        reference = next(watch.reference for watch in WATCHES if reference_key(watch.reference) == key)
        transfer = Transfer(
            "0", entry.token, "", entry.recipient, entry.pays, references=(reference,), claimable=entry.pays
        )
        moved = (transfer,) if entry.is_readable else ()
        return TransactionFacts(entry.signature, "", None, BLOCK, True, moved, is_readable=entry.is_readable)


WATCHES = [Watch(bytes([1, number]) * 8, "", NOWHERE) for number in range(250)]
ONE, TWO = WATCHES[:2]


def test_checked_transactions_are_not_read_again() -> None:
    node = Node()
    search = node.search()
    paid = [node.add(ONE, 5) for _ in range(3)]
    first = search.run([ONE]).found
    looked_at, listed = len(node.looked_at), node.listed
    assert set(first) == {(ONE.reference, signature) for signature in paid}
    assert search.run([ONE]).found == first
    assert (len(node.looked_at), node.listed) == (looked_at, listed + 1)


@pytest.mark.parametrize(
    "different", [{"failed": True}, {"token": "another"}, {"recipient": "another"}, {"pays": 0}]
)
def test_transaction_that_pays_nothing_expected_is_skipped(different: dict[str, Any]) -> None:
    node = Node()
    node.add(ONE, **{"pays": 5, **different})
    assert node.search().run([ONE]).found == ()


def test_unreadable_transaction_is_reported_as_doubtful() -> None:
    node = Node()
    odd = node.add(ONE, is_readable=False)
    assert node.search().run([ONE]) == ((), ((ONE.reference, odd),))


def test_unreadable_transaction_is_found_once_it_is_readable() -> None:
    node, search = Node(), None
    odd = [node.add(ONE, 5, is_readable=False) for _ in range(60)]
    search = node.search()
    assert [len(pairs) for pairs in search.run([ONE])] == [0, 5]
    for entry in node.lists[reference_key(ONE.reference)]:
        entry.is_readable = True
    for _ in range(2):
        found, doubtful = search.run([ONE])
    assert {signature for _, signature in found} == set(odd)
    assert doubtful == ()


def test_transaction_that_a_node_lists_late_is_found() -> None:
    node = Node()
    paid = [node.add(ONE, 5)]
    search = node.search()
    search.run([ONE])
    paid.append(node.add(ONE, 5, below=1))
    assert {signature for _, signature in search.run([ONE]).found} == set(paid)
    node.add(ONE)
    search.run([ONE])
    paid.append(node.add(ONE, 5, below=2))
    assert {signature for _, signature in search.run([ONE]).found} == set(paid)
    assert max(map(node.looked_at.count, node.looked_at)) == 1


def test_only_recent_transactions_are_listed_again() -> None:
    node = Node()
    for number in range(10):
        node.add(ONE, slot=1 + 60 * number)
    search = node.search()
    search.run([ONE])
    old = node.add(ONE, 5, below=5, slot=400)
    late = node.add(ONE, 5, below=1, slot=500)
    found = {signature for _, signature in search.run([ONE]).found}
    assert (late in found, old in found) == (True, False)


def test_late_transaction_below_an_open_gap_is_found() -> None:
    node = Node()
    node.add(ONE, slot=100)
    search = node.search()
    search.run([ONE])
    node.poison = set([node.add(ONE) for _ in range(4)][:3])
    search.run([ONE])
    node.poison.clear()
    late = node.add(ONE, 5, below=5, slot=99)
    node.add(ONE)
    for _ in range(4):
        found = search.run([ONE]).found
    assert late in {signature for _, signature in found}


@pytest.mark.parametrize("newer", [190, 205, 400])
def test_outage_among_much_junk_hides_no_payment(newer: int) -> None:
    node = Node()
    silent = [node.add(ONE) for _ in range(60)]
    paid = node.add(ONE, 5)
    silent += [paid, *(node.add(ONE) for _ in range(newer))]
    node.silent = set(silent)
    search = node.search()
    for _ in range(6):
        assert search.run([ONE]) == ((), ())
    node.silent.clear()
    for _ in range(24):
        found = search.run([ONE]).found
    assert found == ((ONE.reference, paid),)


def test_missing_transaction_is_retried_and_delays_no_other() -> None:
    node = Node()
    paid = node.add(ONE, 5)
    hidden = node.add(ONE, 5)
    node.silent.add(hidden)
    search = node.search()
    assert search.run([ONE]).found == ((ONE.reference, paid),)
    node.silent.clear()
    assert set(search.run([ONE]).found) == {(ONE.reference, paid), (ONE.reference, hidden)}


def test_thousands_on_one_reference_delay_no_other() -> None:
    node = Node()
    hidden = node.add(ONE, 5)
    for _ in range(3000):
        node.add(ONE)
    paid = node.add(TWO, 5)
    search = node.search()
    assert search.run([ONE, TWO]).found == ((TWO.reference, paid),)
    new = node.add(ONE, 5)
    assert (ONE.reference, new) in search.run([ONE, TWO]).found
    searches = 2
    while (ONE.reference, hidden) not in search.run([ONE, TWO]).found:
        searches += 1
        assert searches < 30
    assert len(node.looked_at) == len(set(node.looked_at))


def test_many_references_with_junk_are_searched_in_turns() -> None:
    node = Node()
    paid = {watch: node.add(watch, 5) for watch in WATCHES}
    for watch in WATCHES:
        for _ in range(10):
            node.add(watch)
    search, found = node.search(), set[tuple[bytes, str]]()
    for _ in range(30):
        found = set(search.run(WATCHES).found)
    assert found == {(watch.reference, signature) for watch, signature in paid.items()}
    assert max(map(node.looked_at.count, node.looked_at)) == 1


def test_transactions_that_break_a_response_are_skipped() -> None:
    node = Node()
    paid = [node.add(ONE, 5)]
    node.poison = {node.add(ONE) for _ in range(3)}
    paid.append(node.add(ONE, 5))
    for _ in range(100):
        node.add(ONE)
    search, found = node.search(), ()
    for _ in range(12):
        found = search.run([ONE]).found
    assert {signature for _, signature in found} == set(paid)


def test_node_without_the_last_signature_ends_no_search() -> None:
    node = Node()
    paid = node.add(ONE, 5)
    newer = [node.add(ONE) for _ in range(400)]
    search = node.search()
    assert search.run([ONE]).found == ()
    node.unknown = set(newer)
    assert search.run([ONE]).found == ()
    node.unknown = set()
    assert [search.run([ONE]).found for _ in range(3)][-1] == ((ONE.reference, paid),)


def test_one_search_reads_a_bounded_number() -> None:
    node = Node()
    for watch in WATCHES:
        for _ in range(60):
            node.add(watch)
    node.search().run(WATCHES)
    assert len(node.looked_at) <= 250
    assert node.listed <= len(WATCHES) + 8 * 50


def test_search_without_a_node_raises_chain_error() -> None:
    class Down(Node):
        def batch(self, calls: Sequence[Call], read: Callable[[list[Any]], Any]) -> Any:
            raise ChainError("no node gave an answer")

    with pytest.raises(ChainError):
        Down().search().run([ONE])


@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_every_payment_is_found_whatever_arrives_between(chance: random.Random, page: int) -> None:
    node = Node(most_in_a_page=page)
    search = node.search()
    paid = set()
    watches = WATCHES[:3]
    for _ in range(8):
        for watch in watches:
            for _ in range(chance.choice([0, 1, 5, 70])):
                pays = chance.choice([0, 0, 0, 5])
                signature = node.add(watch, pays, failed=chance.random() < 0.2)
                if pays and not node.lists[reference_key(watch.reference)][0].failed:
                    paid.add((watch.reference, signature))
                if chance.random() < 0.1:
                    node.silent.add(signature)
                if chance.random() < 0.02:
                    node.poison.add(signature)
        search.run(watches)
        if chance.random() < 0.5:
            node.silent.clear()
    node.silent.clear()
    node.poison.clear()
    for _ in range(300):
        if set(search.run(watches).found) == paid:
            break
    assert set(search.run(watches).found) == paid
