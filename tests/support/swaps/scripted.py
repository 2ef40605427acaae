"""Swaps with a scripted provider, on real chains. Quotes, source transactions and deliveries are made here."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from demo.aggregator.contracts import Move, deliver
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest, Quote, Route
from payments.providers.base import ListedToken, Offer, SwapState, SwapStatus, Wanted
from tests.chain import LocalChain
from tests.support.payments.world import Clock, make_request, submit
from tests.support.swaps.following import step
from tests.support.swaps.world import SwapWorld

# The address has no contract, so it accepts every call.
PINNED = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
SELECTOR = bytes.fromhex("aabbccdd")
NATIVE = "0x0000000000000000000000000000000000000000"
USDC_UNIT = 10**6

Said = SwapStatus | Exception


@dataclass
class Script:
    """A provider that returns scripted responses in order, and repeats the last one."""

    said: list[Said] = field(default_factory=list)
    key: str = "lifi"
    asked: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)

    def says(self, *said: Said) -> None:
        """Set the responses from now on."""
        self.said = list(said)

    def status(self, tracking: Mapping[str, Any], source_hash: str) -> SwapStatus:
        self.asked.append((tracking, source_hash))
        answer = self.said.pop(0) if len(self.said) > 1 else self.said[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def quote(self, wanted: Wanted) -> Offer:
        raise NotImplementedError

    def tokens(self, chain_ids: Sequence[int]) -> list[ListedToken]:
        raise NotImplementedError


def under_way(state: SwapState = SwapState.BRIDGING, raw: str = "PENDING") -> SwapStatus:
    return SwapStatus(state, raw)


def delivered(by: str | None, amount: int | None, **more: Any) -> SwapStatus:
    """Return the provider's status for a delivered swap, with this transaction and this amount."""
    return SwapStatus(
        SwapState.DELIVERED, "DONE/COMPLETED", destination_hash=by, destination_amount=amount, **more
    )


@dataclass
class Scripted:
    """Requests for USDC (or another token) on the second chain, paid with native coin of the first."""

    world: SwapWorld
    merchant: Merchant
    provider: Script
    clock: Clock

    def request(self, amount: str = "10", symbol: str = "USDC", **different: Any) -> PaymentRequest:
        token = self.world.token(self.world.second_row, symbol)
        return make_request(self.merchant, token, amount, self.world.second.recipient, **different)

    def quote(self, request: PaymentRequest, *, is_built: bool = True, **different: Any) -> Quote:
        """Return a quote for a swap of the remaining amount, issued a second ago."""
        now = timezone.now() - timedelta(seconds=1)
        route = Route.objects.create(
            request=request,
            type="swap",
            wallet_address=self.world.first.payer,
            chain=self.world.first_row,
            token=self.world.token(self.world.first_row, "ETH"),
            amount=5 * 10**15,
            amount_due=request.amount_remaining,
            provider=self.provider.key,
            created_at=now,
            expires_at=now + timedelta(minutes=5),
            built_at=now if is_built else None,
        )
        fields = {
            "route": route,
            "provider": self.provider.key,
            "bound_by": secrets.token_bytes(32),
            "amount_in": route.amount,
            "amount_out": request.amount_remaining,
            "amount_out_min": request.amount_remaining,
            "action": {},
            "tracking": {"id": secrets.token_hex(8)},
            "created_at": now,
            "built_at": now if is_built else None,
        }
        return Quote.objects.create(**{**fields, **different})

    def send_naming(self, *ids: bytes, chain: LocalChain | None = None) -> str:
        """Send a call that contains these ids to the pinned contract on the first chain; return its hash."""
        return self.send_call(PINNED, SELECTOR + b"".join(ids), chain)

    def send_call(self, to: str, data: bytes, chain: LocalChain | None = None) -> str:
        chain = chain or self.world.first
        return chain.send(
            {
                "chainId": chain.chain_id,
                "to": to,
                "value": 0,
                "data": "0x" + data.hex(),
                "gas": 300_000,
                "maxFeePerGas": 10**11,
                "maxPriorityFeePerGas": 10**9,
            }
        )

    def depart(self, request: PaymentRequest, quote: Quote | None = None) -> Payment:
        """Send and submit a swap's transaction; return its payment."""
        quote = quote or self.quote(request)
        return submit(request, self.send_naming(bytes(quote.bound_by)), self.world.first_row)

    def deliver(self, *amounts: int, token: str | None = None, recipient: str | None = None) -> str:
        """Deliver these amounts in one transaction on the second chain, with inner calls of a relayer's contract."""
        contract = self.world.second.usdc if token is None else token or NATIVE
        to = recipient or self.world.second.recipient
        moves = [Move(secrets.token_bytes(32), contract, to, amount) for amount in amounts]
        return deliver(self.world.second.url, moves)

    def step(self, payment: Payment) -> Payment:
        """Query the chains and the provider when the payment is due."""
        return step(payment, self.clock, provider=lambda key: self.provider)

    def bridge(self, payment: Payment) -> Payment:
        """Run lookups until the provider was queried at least once."""
        return self.until(payment, lambda: bool(self.provider.asked))

    def until(self, payment: Payment, reached: Any, steps: int = 60) -> Payment:
        for _ in range(steps):
            if reached():
                return payment
            self.step(payment)
        raise AssertionError(f"{payment.pk} is {payment.status}: {payment.status_detail}")

    def decide(self, payment: Payment) -> Payment:
        """Run lookups until the payment is completed or failed."""
        payment.refresh_from_db()
        return self.until(payment, lambda: not payment.is_open)
