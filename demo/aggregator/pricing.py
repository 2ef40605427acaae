"""The costs of a swap: the aggregator's fee, the bridge's fee in the native coin, and the duration."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext

from demo.aggregator.places import EVM, Place, Token

LEAST_VALUE = Decimal("0.05")
MAX_VALUE = Decimal(1_000_000)
# The gas of a swap's transaction, as an estimate: the router's calls use 33,000 to 65,000.
_GAS = 75_000
_LAMPORTS = 5_000
_EVM_BRIDGE_FEE = 4 * 10**13
_SVM_BRIDGE_FEE = 5 * 10**5


@dataclass(frozen=True)
class Tool:
    """A bridge or an exchange of this world."""

    key: str
    name: str
    fee: Decimal
    seconds: int


BRIDGE = Tool("localBridge", "Local Bridge", Decimal("0.0025"), 60)
EXPRESS = Tool("localExpress", "Local Express", Decimal("0.006"), 15)
EXCHANGE = Tool("localExchange", "Local Exchange", Decimal("0.0025"), 5)
TOOLS = (BRIDGE, EXPRESS, EXCHANGE)


@dataclass(frozen=True)
class Amounts:
    """Amounts in base units: the paid amount, the fee that it includes, the expected and the guaranteed result."""

    taken: int
    fee: int
    expected: int
    least: int


def tool_for(source: Place, target: Place, order: str) -> Tool:
    """Return the tool for a route."""
    if source.id == target.id:
        return EXCHANGE
    return EXPRESS if order == "FASTEST" else BRIDGE


def by_output(source: Token, target: Token, least: int, slippage: Decimal, fee: Decimal) -> Amounts:
    """Return the amount that the customer must pay, so that at least `least` arrives even with maximum slippage."""
    with localcontext() as context:
        context.prec = 80
        expected = _up(least / (1 - slippage))
        worth = target.price * expected / 10**target.decimals
        before_fee = _up(worth / source.price * 10**source.decimals)
        taken = _up(before_fee / (1 - fee))
    return Amounts(taken, taken - before_fee, expected, least)


def by_input(source: Token, target: Token, taken: int, slippage: Decimal, fee: Decimal) -> Amounts:
    with localcontext() as context:
        context.prec = 80
        cut = _up(taken * fee)
        worth = source.price * (taken - cut) / 10**source.decimals
        expected = int((worth / target.price * 10**target.decimals).to_integral_value(ROUND_FLOOR))
        least = int((expected * (1 - slippage)).to_integral_value(ROUND_FLOOR))
    return Amounts(taken, cut, expected, least)


def bridge_fee(source: Place, target: Place) -> int:
    """Return the bridge's fee in the source chain's native coin, in addition to the amount."""
    if source.id == target.id:
        return 0
    return _EVM_BRIDGE_FEE if source.kind == EVM else _SVM_BRIDGE_FEE


def gas(place: Place, gas_price: int) -> tuple[int, int]:
    """Return the transaction's expected gas and its cost in the native coin."""
    return (_GAS, _GAS * gas_price) if place.kind == EVM else (_LAMPORTS, _LAMPORTS)


def _up(value: Decimal | int) -> int:
    return int(Decimal(value).to_integral_value(ROUND_CEILING))
