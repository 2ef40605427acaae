"""The executor finds customers' payments on the source chains, and delivers on the target chains.

The executor polls the chains' nodes only while a quote is open. It reads only the router's logs and the payments to the
vault.
"""

import logging
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import requests

from demo.aggregator import contracts, ledger
from demo.aggregator.book import Book, Delivery, Swap
from demo.aggregator.places import EVM, Place, Places, Token
from demo.aggregator.quoting import new_id, stranger
from demo.aggregator.switches import Positions, Switches
from demo.contracts.deploy import ChainRefusal, rpc
from demo.solana.ledger import LedgerRefusal

QUOTE_LIFE = 20 * 60
REORGANISATION = 8
"""The number of blocks to read again, since they may have been reorganised."""
_TO_AMOUNT = slice(6 * 32, 7 * 32)
"""The position of the delivered amount in a completed swap's log."""

MAX_FAILURES = 5

log = logging.getLogger(__name__)


@dataclass
class _Seen:
    """The blocks and transactions of the chains that were already read."""

    blocks: dict[int, int] = field(default_factory=dict)
    signatures: set[str] = field(default_factory=set)


class Executor(threading.Thread):
    """The thread that finds payments and delivers. No other thread spends from the treasury."""

    def __init__(self, places: Places, book: Book, switches: Switches, *, pause: float) -> None:
        super().__init__(name="executor", daemon=True)
        self._places, self._book, self._switches, self._pause = places, book, switches, pause
        self._stopping = threading.Event()
        self._working = threading.Lock()
        self._seen = _Seen()
        self._failures: Counter[bytes] = Counter()

    def run(self) -> None:
        """Poll and deliver until stopped. Retry a node that doesn't respond."""
        while not self._stopping.is_set():
            is_busy = False
            try:
                with self._working:
                    is_busy = self._round()
            except (requests.RequestException, ChainRefusal, LedgerRefusal) as error:
                log.warning("The executor could not go on: %s", error)
            except Exception:  # the thread must not end, or deliveries would stop
                log.exception("The executor could not go on")
                is_busy = True
            if is_busy:
                self._stopping.wait(self._pause)
            else:
                self._book.wait_for_change(1.0)

    def forget(self) -> None:
        """Wait for the end of the current round, and remove all swaps.

        Swaps that are not delivered yet are never delivered.
        """
        with self._working:
            self._book.forget()

    def stop(self) -> None:
        self._stopping.set()
        self.join(30)

    def _round(self) -> bool:
        """Process all chains once. Return whether any swap is still open."""
        now = time.time()
        quoted = [swap for swap in self._book.all() if not swap.taken_by and now - swap.made_at < QUOTE_LIFE]
        for place in self._places.all:
            if any(swap.from_token.chain_id == place.id for swap in quoted):
                self._look(place)
        waiting = [
            swap
            for swap in self._book.all()
            if swap.taken_by and not swap.delivery and self._failures[swap.id] < MAX_FAILURES
        ]
        for swap in waiting:
            self._try_to_serve(swap)
        return bool(quoted or waiting)

    def _look(self, place: Place) -> None:
        if place.kind == EVM:
            self._look_at_router(place)
        else:
            for signature, memo, moment in ledger.payments_since(place.url, self._seen.signatures):
                swap = self._book.by_id(memo.partition("LI.FI TX:")[0].strip()[-8:].encode())
                if swap and not swap.taken_by:
                    self._book.change(swap, taken_by=signature, taken_at=moment)

    def _look_at_router(self, place: Place) -> None:
        head = int(rpc(place.url, "eth_blockNumber"), 16)
        # If the chain was reset, it has fewer blocks than this thread has read.
        first = max(0, min(head, self._seen.blocks.get(place.id, head - 100)) - REORGANISATION)
        wanted = {"address": contracts.ROUTER, "fromBlock": hex(first), "toBlock": hex(head)}
        for entry in rpc(place.url, "eth_getLogs", wanted):
            self._read_log(place, entry)
        self._seen.blocks[place.id] = head

    def _read_log(self, place: Place, entry: dict[str, object]) -> None:
        topics, data = list(entry["topics"]), bytes.fromhex(str(entry["data"])[2:])  # type: ignore[call-overload]
        if topics[0] == contracts.TRANSFER_STARTED:
            swap = self._book.by_id(data[32:64])
        elif topics[0] == contracts.PACKED_TRANSFER:
            swap = self._book.by_id(data[:8])
        elif topics[0] == contracts.SWAP_COMPLETED:
            swap = self._book.by_id(bytes.fromhex(str(topics[1])[2:]))
        else:
            return
        if swap is None or swap.taken_by or swap.from_token.chain_id != place.id:
            return
        taken_by, moment = str(entry["transactionHash"]), _block_time(place, str(entry["blockNumber"]))
        delivery = None
        if topics[0] == contracts.SWAP_COMPLETED:
            delivery = Delivery(
                taken_by, swap.to_token, swap.recipient, int.from_bytes(data[_TO_AMOUNT]), moment
            )
        kind = "delivered" if delivery else ""
        self._book.change(swap, taken_by=taken_by, taken_at=moment, delivery=delivery, kind=kind)

    def _try_to_serve(self, swap: Swap) -> None:
        """Deliver the swap.

        If that fails, log and count the failure. After MAX_FAILURES, there is no further attempt.
        """
        try:
            self._serve(swap, self._switches())
        except (requests.RequestException, ChainRefusal, LedgerRefusal) as error:
            self._failures[swap.id] += 1
            log.warning("%s could not be delivered: %s", swap.step_id, error)

    def _serve(self, swap: Swap, positions: Positions) -> None:
        """Deliver in the way that the switch `delivery` selects."""
        how = positions.delivery
        if how == "none" or (how == "late" and time.time() - swap.seen_at < positions.delay_seconds):
            return
        if how == "refund":
            token, receiver, amount = swap.from_token, swap.sender, swap.amount_in
        else:
            token, receiver, amount = self._owed(swap, how)
        place = self._places[token.chain_id]
        moves = [(token, receiver, amount)]
        if how == "batch":
            moves.insert(0, (token, stranger(place), amount))
        elif how == "batch_same_recipient":
            moves.insert(0, (token, receiver, amount // 3))
        paid_by = self._pay(place, swap, moves)
        delivery = Delivery(paid_by, token, receiver, amount, _time_of(place, paid_by))
        kind = {"refund": "refunded", "other_token": "partial"}.get(how, "delivered")
        self._book.change(swap, delivery=delivery, kind=kind)

    def _owed(self, swap: Swap, how: str) -> tuple[Token, str, int]:
        place = self._places[swap.to_token.chain_id]
        if how == "less":
            return swap.to_token, swap.recipient, swap.amount_out_min * 99 // 100
        if how == "other_recipient":
            return swap.to_token, stranger(place), swap.amount_out
        if how == "other_token":
            other = next(token for token in place.tokens if token != swap.to_token)
            worth = swap.to_token.value(swap.amount_out)
            return other, swap.recipient, int(worth / other.price * 10**other.decimals)
        return swap.to_token, swap.recipient, swap.amount_out

    def _pay(self, place: Place, swap: Swap, moves: list[tuple[Token, str, int]]) -> str:
        if place.kind != EVM:
            return ledger.deliver(place.url, moves)
        ids = [*(new_id(place) for _ in moves[1:]), swap.id]
        rows = [
            contracts.Move(id, token.address, receiver, amount)
            for id, (token, receiver, amount) in zip(ids, moves, strict=True)
        ]
        return contracts.deliver(place.url, rows)


def _block_time(place: Place, number: str) -> int:
    return int(rpc(place.url, "eth_getBlockByNumber", number, False)["timestamp"], 16)


def _time_of(place: Place, hash: str) -> int:
    if place.kind != EVM:
        return int(time.time())
    return _block_time(place, rpc(place.url, "eth_getTransactionReceipt", hash)["blockNumber"])
