"""Request quotes from a Relay with scripted responses."""

from dataclasses import replace
from typing import Any

import responses

from payments.providers.base import Offer, Wanted
from payments.providers.offer_checks import Rules
from payments.providers.relay.client import RelayProvider
from tests.support.routing.offers import (
    DEPOSITORY,
    RULES,
    SOLANA,
    WANTED,
)
from tests.support.routing.relay_world import (
    API,
    DEPOSITORY_ON_SOLANA,
    KEY,
    NOW,
)


def relay_at(key: str = KEY, now: float = NOW) -> RelayProvider:
    """Return a Relay provider whose clock says `now`."""
    return RelayProvider(API, key, clock=lambda: now)


def ask_relay(
    answers: responses.RequestsMock, body: Any, wanted: Wanted = WANTED, *, now: float = NOW, **how: Any
) -> Offer:
    """Return the offer that the provider reads from `body`, its response to `wanted`."""
    answers.post(f"{API}/quote/v2", json=body, **how)
    return relay_at(now=now).quote(wanted)


def rules_of(wanted: Wanted) -> Rules:
    """Return the rules of a deployment that pins Relay's depositories and has no prices."""
    types = {SOLANA: "solana"}
    return replace(
        RULES,
        source_type=types.get(wanted.source.chain_id, "evm"),
        target_type=types.get(wanted.target.chain_id, "evm"),
        routers=frozenset({DEPOSITORY, DEPOSITORY_ON_SOLANA}),
        allow_opaque=wanted.source.chain_id == SOLANA,
        prices={},
    )
