"""The aggregator's quotes and their outcomes, with one row per quote. Readers can wait for changes."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from demo.aggregator.places import Token


@dataclass(frozen=True)
class Delivery:
    """One payout by the aggregator, in one transaction. The amount is in base units."""

    hash: str
    token: Token
    recipient: str
    amount: int
    time: int


@dataclass(frozen=True)
class Swap:
    """A quote and its outcome.

    `data` is the call (EVM) or the transaction (Solana). `taken_by` is the hash of the customer's transaction, once the
    executor has seen it. `kind` says how the `delivery` ended the swap: `delivered`, `partial` (in another token) or
    `refunded`.
    """

    id: bytes
    step_id: str
    tool: str
    from_token: Token
    to_token: Token
    sender: str
    recipient: str
    amount_in: int
    amount_out: int
    amount_out_min: int
    bridge_fee: int
    integrator: str
    data: bytes
    made_at: float
    taken_by: str | None = None
    taken_at: int = 0
    """The time by the source chain's clock; `seen_at` is by our clock."""
    seen_at: float = 0.0
    delivery: Delivery | None = None
    kind: str = ""

    @property
    def stays_on_chain(self) -> bool:
        """Whether the swap is on one chain. If so, the customer's transaction also delivers the tokens."""
        return self.from_token.chain_id == self.to_token.chain_id


class Book:
    """All swaps of one aggregator, in memory. Thread-safe."""

    def __init__(self) -> None:
        self._swaps: dict[bytes, Swap] = {}
        self._changed = threading.Condition()

    def add(self, swap: Swap) -> None:
        """Add a new quote."""
        self._store(swap)

    def change(self, swap: Swap, **fields: Any) -> Swap:
        """Store a swap's outcome, and notify waiting readers. Return the row."""
        changed = replace(swap, **fields)
        if changed.taken_by and not changed.seen_at:
            changed = replace(changed, seen_at=time.time())
        self._store(changed)
        return changed

    def all(self) -> list[Swap]:
        """All swaps, in the order of their quotes."""
        with self._changed:
            return list(self._swaps.values())

    def forget(self) -> None:
        with self._changed:
            self._swaps.clear()
            self._changed.notify_all()

    def by_id(self, id: bytes) -> Swap | None:
        """Return the swap with this id, or whose id begins with these 8 bytes."""
        return next((swap for swap in self.all() if swap.id == id or swap.id[:8] == id), None)

    def by_hash(self, text: str) -> Swap | None:
        """Return the swap with this id, with this source transaction, or with this delivery."""
        known = text.lower() if text.startswith("0x") else text
        for swap in reversed(self.all()):
            if known in (swap.taken_by, swap.delivery and swap.delivery.hash, "0x" + swap.id.hex()):
                return swap
        return None

    def wait(self, wanted: Callable[[Swap], bool], patience: float = 20) -> Swap:
        """Wait for a swap that matches, and return it. Raises TimeoutError."""
        deadline = time.monotonic() + patience
        with self._changed:
            while True:
                found = next((swap for swap in self._swaps.values() if wanted(swap)), None)
                if found:
                    return found
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"Nothing of that kind happened to a swap within {patience:g} s.")
                self._changed.wait(left)

    def wait_for_change(self, seconds: float) -> None:
        """Wait until a swap is added or changed, or until the timeout."""
        with self._changed:
            self._changed.wait(seconds)

    def _store(self, swap: Swap) -> None:
        with self._changed:
            self._swaps[swap.id] = swap
            self._changed.notify_all()
