"""The steps of the checkout's page to pay with another token, through the public API only."""

from dataclasses import dataclass
from typing import Any

from chains.models import Chain, Token
from tests.conftest import Api
from tests.support.swaps.world import SwapWorld

QUOTES = "/v1/quote/toAmount"


@dataclass(frozen=True)
class Customer:
    """A customer with a wallet, who opened the page of `order`."""

    public: Api
    order: dict[str, Any]
    wallet: str

    @property
    def page(self) -> str:
        return f"/api/public/payment-requests/{self.order['id']}"

    def state(self) -> dict[str, Any]:
        return dict(self.public.get(self.page).json())

    def ask_routes(self, token: Token | str, chain: Chain | None = None, **different: Any) -> Any:
        """Request routes for a token of the catalogue, or for a token's address on `chain`."""
        named: dict[str, Any]
        if isinstance(token, Token):
            named = {"chain_id": token.chain_id, "token_id": token.pk}
        else:
            assert chain is not None
            named = {"chain_id": chain.pk, "token_address": token}
        body = {"wallet_address": self.wallet, **named, **different}
        return self.public.post(f"{self.page}/routes", body)

    def routes(self, token: Token | str, chain: Chain | None = None) -> list[dict[str, Any]]:
        """Return the routes, of which there is at least one."""
        answer = self.ask_routes(token, chain)
        assert answer.status_code == 200, answer.content
        routes: list[dict[str, Any]] = answer.json()["routes"]
        assert routes, answer.content
        return routes

    def approval(self, route: dict[str, Any]) -> dict[str, Any]:
        answer = self.public.post("/api/public/check-approval", {"route_id": route["id"]})
        assert answer.status_code == 200, answer.content
        return dict(answer.json())

    def build(self, route: dict[str, Any], **different: Any) -> Any:
        return self.public.post("/api/public/build-transaction", {"route_id": route["id"], **different})

    def built(self, route: dict[str, Any]) -> dict[str, Any]:
        answer = self.build(route)
        assert answer.status_code == 200, answer.content
        return dict(answer.json())

    def submit(self, transaction_hash: str, route: dict[str, Any]) -> dict[str, Any]:
        sent = {
            "transaction_hash": transaction_hash,
            "chain_id": route["from"]["chain_id"],
            "route_id": route["id"],
        }
        answer = self.public.post(f"{self.page}/payments", sent)
        assert answer.status_code == 201, answer.content
        return dict(answer.json())


def code(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.content
    return str(answer.json()["error"]["code"])


def quotes_asked(world: SwapWorld) -> int:
    """The number of quotes that were requested from the aggregator."""
    return sum("/quote" in call.path for call in world.aggregator.calls.made)
