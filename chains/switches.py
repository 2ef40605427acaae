"""Kill switches.

An operator can switch off a feature, a chain or a token, in all processes within a second. A switch stops new requests,
routes, transactions to sign, prices and frames. Existing payments are still verified, completed and delivered. Unlike
`is_active`, a switch is not part of the catalogue, so loading a catalogue doesn't change it. A stopped call gets a 503,
so that the caller retries later. After the error for an unknown chain, the caller would not retry.

The database has rows only for switches that are off. `merchants.switching` changes them and writes the security log.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from chains.lookup import LARGEST_ID
from chains.models import Chain, Switch, Token
from config.api.errors import ApiError, ErrorCode
from config.database.process_cache import ProcessCache

RETRY_AFTER_SECONDS = 60


class Feature(StrEnum):
    """A feature that can be switched off for all merchants."""

    SWAPS = "swaps"
    """Payments in a token other than the requested one, through routing providers."""
    REFUNDS = "refunds"
    """New refunds, and their transactions to sign."""
    PRICES = "prices"
    """Requests with a price, and the values of completed payments."""
    EMBEDDING = "embedding"
    """The checkout in frames of merchants' pages."""
    DEPOSIT_ADDRESSES = "deposit_addresses"
    """New deposit addresses. Addresses that were shown are still watched."""


_CODES = {Feature.SWAPS: ErrorCode.ROUTING_UNAVAILABLE, Feature.PRICES: ErrorCode.RATE_UNAVAILABLE}
_MESSAGES = {
    Feature.SWAPS: "Payments with other tokens are switched off at the moment. Pay in the requested token.",
    Feature.REFUNDS: "Refunds are switched off at the moment. Try again later.",
    Feature.PRICES: "Prices are switched off at the moment. Request an amount of the token, or try again later.",
    Feature.EMBEDDING: "Embedded checkouts are switched off at the moment. Open the payment_url instead.",
    Feature.DEPOSIT_ADDRESSES: "Deposit addresses are switched off at the moment. Pay with a wallet instead.",
}


class UnknownSwitch(LookupError):
    """No switch has this name. The message lists the valid names."""


class SwitchedOff(ApiError):
    """The 503 for a call that a kill switch stops."""

    is_intended = True


@dataclass(frozen=True)
class Target:
    """A switch's name in the database, and its label for people."""

    name: str
    label: str


def is_on(feature: Feature) -> bool:
    return feature.value not in _off()


def is_offered(token: Token) -> bool:
    """Whether the token and its chain are both switched on."""
    off = _off()
    return not off or (f"chain:{token.chain_id}" not in off and f"token:{token.pk}" not in off)


def offered_tokens(tokens: Iterable[Token]) -> list[Token]:
    return [token for token in tokens if is_offered(token)]


def offered_chains(chains: Iterable[Chain]) -> list[Chain]:
    off = _off()
    return [chain for chain in chains if f"chain:{chain.pk}" not in off]


def require_on(feature: Feature) -> None:
    """Raise ApiError (503) if the feature is switched off."""
    if not is_on(feature):
        code = _CODES.get(feature, ErrorCode.SERVICE_UNAVAILABLE)
        raise SwitchedOff(code, _MESSAGES[feature], retry_after=RETRY_AFTER_SECONDS)


def require_offered(token: Token) -> None:
    """Raise ApiError (503) if the token or its chain is switched off."""
    if not is_offered(token):
        message = f"{token.symbol} on {token.chain.name} is switched off at the moment. Try again later."
        raise SwitchedOff(ErrorCode.SERVICE_UNAVAILABLE, message, retry_after=RETRY_AFTER_SECONDS)


def find_target(name: str) -> Target:
    """Return the target of `swaps`, `chain:ID` or `token:ID`. Raises UnknownSwitch."""
    kind, _, number = name.partition(":")
    if name in list(Feature):
        return Target(name, f"the feature {name}")
    if (
        kind in ("chain", "token")
        and number.isascii()
        and number.isdecimal()
        and int(number[:20]) <= LARGEST_ID
    ):
        model = Chain if kind == "chain" else Token
        row = model.objects.filter(pk=int(number)).first()
        if row is not None:
            return Target(f"{kind}:{row.pk}", str(row))
    features = ", ".join(Feature)
    raise UnknownSwitch(
        f"There is no {name!r} to switch. Name one of {features}, chain:ID or token:ID with an ID of the catalogue."
    )


def _off() -> frozenset[str]:
    return _switches.get("off") or frozenset()


def _load(_name: str) -> frozenset[str]:
    return frozenset(Switch.objects.values_list("name", flat=True))


_switches = ProcessCache(_load)
