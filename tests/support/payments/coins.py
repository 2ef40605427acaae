"""A chain on which native coin arrives at deposit addresses, is swept, or is reorganised away."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from chains.client import Block, StateMissing, TransactionFacts, Transfer
from chains.facts.deposits import CoinsReceived, ReceiptTime
from chains.facts.failures import SweepsMissing
from tests.support.payments.deposits import EXCHANGE, KnownTransactions

ETHER = 10**18


@dataclass
class CoinChain(KnownTransactions):
    """The chain has one block each second. Its nodes have the state of the last `states` blocks.

    `reads` are the blocks at which balances were read, each with the number of addresses. No node returns the sweeps
    of the `unreadable` addresses, and only receipts have those of the `flooded` addresses.
    """

    start: datetime = field(default_factory=lambda: timezone.now() - timedelta(seconds=100))
    states: int = 128
    arrivals: list[tuple[int, str, int]] = field(default_factory=list)
    sweeps: list[tuple[int, str, int]] = field(default_factory=list)
    forks: Counter[int] = field(default_factory=Counter)
    reads: list[tuple[int, int]] = field(default_factory=list)
    first_logs: list[int] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    flooded: set[str] = field(default_factory=set)
    swept_ranges: list[tuple[int, int]] = field(default_factory=list)

    def block(self, height: int) -> Block:
        time = self.start + timedelta(seconds=height)
        return Block(height, f"0x{self.forks[height]:04x}{height:060x}", time)

    def mine(self, blocks: int = 1) -> int:
        self.height += blocks
        return self.height

    def pay(self, address: str | None, amount: int, sender: str = EXCHANGE) -> str:
        """Send coin in a new block; return the transaction's hash."""
        assert address
        block = self.block(self.mine())
        self.arrivals.append((block.number, address, amount))
        hash_ = f"0x{len(self.facts) + 1:064x}"
        moved = Transfer("value", "", sender, address, amount)
        self.facts[hash_] = TransactionFacts(hash_, sender, 7, block, True, (moved,))
        return hash_

    def sweep(self, address: str | None) -> None:
        """Sweep the address in a new block."""
        assert address
        self.mine()
        self.sweeps.append((self.height, address, self._balance(address, self.height)))

    def reorganise(self, since: int) -> None:
        """Replace the blocks from this height on. Their transactions are lost."""
        for height in range(since, self.height + 1):
            self.forks[height] += 1
        self.arrivals = [each for each in self.arrivals if each[0] < since]
        self.sweeps = [each for each in self.sweeps if each[0] < since]
        self.facts = {
            hash_: facts for hash_, facts in self.facts.items() if facts.block and facts.block.number < since
        }

    def coins_received(
        self,
        addresses: Sequence[str],
        *,
        since_block: int,
        at_block: int,
        stable_block: int = -1,
        receipts: ReceiptTime | None = None,
    ) -> CoinsReceived:
        if not self.height - self.states < at_block <= self.height:
            raise StateMissing("the state is gone")
        self.reads.append((at_block, len(addresses)))
        self.first_logs.append(since_block)
        readable = self._readable(addresses, receipts)
        swept: Counter[str] = Counter()
        stable: Counter[str] = Counter()
        for block, address, amount in self.sweeps:
            if since_block <= block <= at_block and address in readable:
                swept[address] += amount
                stable[address] += amount if block <= stable_block else 0
        if not readable:
            raise SweepsMissing("no address could be read")
        received = {each: self._balance(each, at_block) + swept[each] for each in readable}
        return CoinsReceived(self.block(at_block), received, {k: v for k, v in stable.items() if v})

    def coins_swept(
        self,
        addresses: Sequence[str],
        *,
        since_block: int,
        until_block: int,
        receipts: ReceiptTime | None = None,
    ) -> dict[str, int]:
        self.swept_ranges.append((since_block, until_block))
        amounts = dict.fromkeys(self._readable(addresses, receipts), 0)
        for block, address, amount in self.sweeps:
            if since_block <= block <= until_block and address in amounts:
                amounts[address] += amount
        return amounts

    def blocks(self, heights: Collection[int]) -> dict[int, Block]:
        return {height: self.block(height) for height in heights if height <= self.height}

    def _readable(self, addresses: Sequence[str], receipts: ReceiptTime | None) -> list[str]:
        hidden = self.unreadable if receipts else self.unreadable | self.flooded
        return [each for each in addresses if each not in hidden]

    def _balance(self, address: str, at: int) -> int:
        arrived = sum(amount for block, to, amount in self.arrivals if to == address and block <= at)
        return arrived - sum(amount for block, of, amount in self.sweeps if of == address and block <= at)
