"""Wait until anvil has mined a transaction: it responds to a sent transaction shortly before it has mined it."""

import threading
import time

from tests.chain import LocalChain


def mined(chain: LocalChain, transaction_hash: str) -> str:
    """Wait until the transaction is in a block, without mining one; return its hash."""
    pause, deadline = threading.Event(), time.monotonic() + 10
    while time.monotonic() < deadline:
        if chain.rpc("eth_getTransactionReceipt", transaction_hash) is not None:
            return transaction_hash
        pause.wait(0.01)
    raise AssertionError(f"{transaction_hash} was not mined")
