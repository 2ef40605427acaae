"""Oversized transactions are read one at a time, and the results use limited memory."""

import threading
from datetime import UTC, datetime

from chains.client import Block, Mention, TransactionFacts
from chains.families.evm.transactions import oversized
from tests.processes import eventually


def test_one_oversized_transaction_is_read_at_a_time() -> None:
    running: list[int] = [0, 0]
    lock = threading.Lock()

    def read(hash_: str, failures: int) -> None:
        with lock:
            running[0] += 1
            running[1] = max(running)
        with lock:
            running[0] -= 1

    readers = [oversized.OversizedReader() for _ in range(3)]
    for reader in readers:
        reader.facts({f"0x{n}": "0xb" for n in range(20)}, (), read, is_waiting=False)
    eventually(lambda: not any(reader._waiting for reader in readers), "all were read", 30)
    assert running[1] == 1


def test_memory_of_read_transactions_is_bounded_by_size() -> None:
    long = Mention("0xRouter", bytes(2**20))

    def read(hash_: str, failures: int) -> TransactionFacts:
        block = Block(1, "0xb", datetime(2026, 1, 1, tzinfo=UTC))
        return TransactionFacts(hash_, "0xS", failures, block, True, (), mentions=(long,) * 8)

    reader = oversized.OversizedReader()
    for n in range(20):
        assert reader.facts({f"0x{n}": "0xb"}, (), read, is_waiting=True)
    kept = sum(len(mention.data) for facts in reader._read.values() for mention in facts.mentions)
    assert 0 < kept <= 64 * 2**20
