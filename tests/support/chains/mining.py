"""anvil answers a sent transaction a moment before it has mined it; who looks at once has to wait for the receipt."""

import threading
import time

from tests.chain import LocalChain


def mined(chain: LocalChain, transaction_hash: str) -> str:
    """Return the hash once the transaction is in a block, without adding one."""
    pause, deadline = threading.Event(), time.monotonic() + 10
    while time.monotonic() < deadline:
        if chain.rpc("eth_getTransactionReceipt", transaction_hash) is not None:
            return transaction_hash
        pause.wait(0.01)
    raise AssertionError(f"{transaction_hash} was not mined")
