"""The chains that the aggregator supports, and their tokens' prices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from demo.aggregator.contracts import EURC, USDT
from demo.contracts.deploy import DAI, USDC
from demo.services import anvil, surfnet
from demo.solana import mint

EVM, SVM = "EVM", "SVM"
EVM_NATIVE = "0x0000000000000000000000000000000000000000"
SVM_NATIVE = "11111111111111111111111111111111"
HARBOUR_CHAIN_ID = anvil.CHAIN_ID + 1


@dataclass(frozen=True)
class Token:
    """A token and its price in US dollars. The native coin has the address that LI.FI uses for it."""

    chain_id: int
    address: str
    symbol: str
    name: str
    decimals: int
    price: Decimal

    @property
    def is_native(self) -> bool:
        """Whether this is the chain's own coin."""
        return self.address in (EVM_NATIVE, SVM_NATIVE)

    def value(self, units: int) -> Decimal:
        """Return the value of this many base units in US dollars."""
        return self.price * units / Decimal(10**self.decimals)


@dataclass(frozen=True)
class Place:
    """A chain: its name and its node's URL."""

    id: int
    key: str
    name: str
    kind: str
    url: str
    tokens: Sequence[Token]

    @property
    def native(self) -> Token:
        """The chain's own coin."""
        return next(token for token in self.tokens if token.is_native)

    def token(self, name: str) -> Token | None:
        """Return the token with this address or symbol. The letter case of EVM addresses doesn't matter."""
        wanted = name.lower() if self.kind == EVM else name
        for token in self.tokens:
            address = token.address.lower() if self.kind == EVM else token.address
            if address == wanted or token.symbol == name:
                return token
        return None


@dataclass(frozen=True)
class Places:
    all: Sequence[Place]

    def find(self, name: str) -> Place | None:
        """Return the chain with this id or key."""
        return next((place for place in self.all if name in (str(place.id), place.key)), None)

    def __getitem__(self, chain_id: int) -> Place:
        return next(place for place in self.all if place.id == chain_id)

    def of_kinds(self, kinds: Iterable[str]) -> list[Place]:
        return [place for place in self.all if place.kind in kinds]


def local_places(first_url: str, second_url: str, solana_url: str | None = None) -> Places:
    """Return the local world's chains. Without `solana_url`, there is no Solana chain."""
    places = [
        _evm(anvil.CHAIN_ID, "loc", "Local Chain", first_url),
        _evm(HARBOUR_CHAIN_ID, "hbr", "Harbour Chain", second_url),
    ]
    if solana_url:
        places.append(_solana(solana_url))
    return Places(places)


def _evm(chain_id: int, key: str, name: str, url: str) -> Place:
    rows = (
        (EVM_NATIVE, "ETH", "Ether", 18, "2500"),
        (USDC, "USDC", "USD Coin", 6, "1"),
        (DAI, "DAI", "Dai Stablecoin", 18, "0.9998"),
        (USDT, "USDT", "Tether USD", 6, "1.0002"),
        (EURC, "EURC", "Euro Coin", 6, "1.08"),
    )
    return Place(chain_id, key, name, EVM, url, [_token(chain_id, *row) for row in rows])


def _solana(url: str) -> Place:
    rows = ((SVM_NATIVE, "SOL", "SOL", 9, "150"), (mint.USDC, "USDC", "USD Coin", mint.DECIMALS, "1"))
    tokens = [_token(surfnet.CHAIN_ID, *row) for row in rows]
    return Place(surfnet.CHAIN_ID, "SOL", "Local Solana", SVM, url, tokens)


def _token(chain_id: int, address: str, symbol: str, name: str, decimals: int, price: str) -> Token:
    return Token(chain_id, address, symbol, name, decimals, Decimal(price))
