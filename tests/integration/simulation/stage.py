"""The rows that all histories share: a chain, a token, and two merchants whose endpoints subscribe to all events."""

from dataclasses import dataclass

from chains.models import Chain, Token
from merchants.models import Merchant
from tests.integration.properties.ledger import DEPTH, TOKEN
from webhooks.endpoints.configuration import Change, configure
from webhooks.event_types import EventType


@dataclass(frozen=True)
class Stage:
    merchants: list[Merchant]
    chain: Chain
    token: Token


def set_up() -> Stage:
    chain = Chain.objects.create(
        id=1,
        name="Simulated",
        chain_type="evm",
        native_symbol="ETH",
        confirmations=str(DEPTH),
        block_time_ms=12_000,
    )
    token = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=TOKEN
    )
    merchants = [Merchant.objects.create(name=name) for name in ("Alice's Bakery", "Mallory's")]
    for merchant in merchants:
        configure(
            merchant, Change("https://shop.example/hooks", enabled_events=[each.value for each in EventType])
        )
    return Stage(merchants, chain, token)
