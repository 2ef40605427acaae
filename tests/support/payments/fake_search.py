"""A chain that can only be searched. It follows its search limits and records its searches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from chains.client import ChainError, Discovery, SearchLimits, Watch
from chains.families import get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import PaymentRequest

RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
BY_BLOCK = SearchLimits(by_block=True, watches=5000, searches=20)
BY_WATCH = SearchLimits(by_block=False, watches=1000, searches=1)


@dataclass(frozen=True)
class Search:
    """One search of the chain: its arguments and the last block that it reached."""

    references: tuple[bytes, ...]
    since_block: int | None
    next_block: int


@dataclass
class FakeChain:
    """A chain of empty blocks and payments. Unlike a real client, it never searches a block twice by itself.

    `blocks_at_once` and `watches_at_once` limit its searches. The newest `hidden` blocks are not indexed yet.
    `before_search` runs before each search and may raise an error.
    """

    clock: Callable[[], datetime] = timezone.now
    limits: SearchLimits = BY_BLOCK
    blocks_at_once: int = 1000
    watches_at_once: int = 1000
    hidden: int = 0
    before_search: Callable[[Sequence[Watch]], None] = lambda watches: None
    times: list[datetime] = field(default_factory=list)
    paid: dict[tuple[bytes, str], int] = field(default_factory=dict)
    searches: list[Search] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mine()

    def __call__(self, chain: Chain) -> Any:
        """Return itself: it is the client for every chain."""
        return self

    def mine(self, blocks: int = 1) -> None:
        """Add empty blocks with the current time."""
        self.times += [self.clock()] * blocks

    def pay(self, request: PaymentRequest) -> str:
        """Pay the request in a new block; return the hash."""
        self.mine()
        sent = f"0x{len(self.paid) + 1:064x}"
        self.paid[bytes(request.reference), sent] = self.height
        return sent

    @property
    def height(self) -> int:
        return len(self.times) - 1

    def head(self) -> int:
        return self.height

    def block_at(self, moment: datetime) -> int:
        return max((height for height, time in enumerate(self.times) if time <= moment), default=0)

    def search_limits(self) -> SearchLimits:
        return self.limits

    def discover(
        self, watches: Sequence[Watch], *, since_block: int | None, until_block: int | None = None
    ) -> Discovery:
        assert 0 < len(watches) <= self.limits.watches
        self.before_search(watches)
        if self.limits.by_block:
            assert since_block is not None
            assert until_block is not None
            first, last = since_block, min(since_block + self.blocks_at_once - 1, until_block, self.height)
            next_block = max(last + 1, first)
        else:
            assert since_block is None
            first, last = 0, self.height
            watches = watches[: self.watches_at_once]
            next_block = self.watches_at_once if len(watches) == self.watches_at_once else 0
        wanted = {watch.reference for watch in watches}
        shown = min(last, self.height - self.hidden)
        found = tuple(
            pair for pair, block in self.paid.items() if pair[0] in wanted and first <= block <= shown
        )
        self.searches.append(Search(tuple(watch.reference for watch in watches), since_block, next_block))
        return Discovery(found, next_block)


@dataclass
class Limited:
    """The chain's real client, with smaller limits. It counts its searches."""

    chain: Chain
    limits: SearchLimits
    searches: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(get_client(self.chain), name)

    def __call__(self, chain: Chain) -> Any:
        return self

    def search_limits(self) -> SearchLimits:
        return self.limits

    def discover(self, watches: Sequence[Watch], **blocks: int | None) -> Discovery:
        self.searches += 1
        return get_client(self.chain).discover(watches, **blocks)


def down(watches: Sequence[Watch]) -> None:
    """Fail as if all nodes were down."""
    raise ChainError("no node gave an answer")


def model_token(chain_type: str = "evm") -> Token:
    """Return a token on a chain that exists only in the catalogue."""
    chain = Chain.objects.create(id=1, name="Model", chain_type=chain_type, native_symbol="ETH")
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "70" * 20
    )


def watch_many(
    merchant: Merchant, token: Token, count: int = 1, *, created_at: datetime | None = None
) -> list[PaymentRequest]:
    """Return new requests of the merchant whose pages have shown their payment links."""
    now = created_at or timezone.now()
    return PaymentRequest.objects.bulk_create(
        PaymentRequest(
            merchant=merchant,
            amount=10,
            chain=token.chain,
            token=token,
            recipient_address=RECIPIENT,
            created_at=now,
            link_shown_at=now,
            expires_at=now,
            expiry_check_at=now,
        )
        for _ in range(count)
    )
