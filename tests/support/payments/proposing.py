"""Customers with contract accounts: the built call, the id that the wallet returns, and the execution."""

from dataclasses import dataclass
from typing import Any

from chains.models import Token
from payments.models import Lookup, Payment, PaymentRequest
from tests.conftest import Api
from tests.support.payments.world import Clock, look
from tests.support.threats.evm_world import World
from tests.support.threats.real_accounts import RealAccount, RealSafe, execute, handle_ops
from tests.verifying import search_proposals

Account = RealSafe | RealAccount


@dataclass
class Proposed:
    """A call that an account's signers have not executed yet."""

    account: Account
    id: str
    execution: bytes

    def execute(self, key: str | None = None) -> str:
        """Have another account (with this key) send the signed call; return the transaction's hash."""
        to = self.account.entry_point if isinstance(self.account, RealAccount) else self.account.address
        return self.account.contracts.send(to, self.execution, key=key)


@dataclass
class Customer:
    """A customer with a contract account, on one request's page."""

    public: Api
    request: PaymentRequest

    @property
    def path(self) -> str:
        return f"/api/public/payment-requests/{self.request.pk}"

    def route(self, address: str, token: Token | None = None) -> str:
        """Return the id of the direct route from this wallet."""
        paid_with = token or self.request.token
        body = {"wallet_address": address, "chain_id": self.request.chain_id, "token_id": paid_with.pk}
        answer = self.public.post(f"{self.path}/routes", body)
        assert answer.status_code == 200, answer.content
        return str(answer.json()["routes"][0]["id"])

    def build(self, route_id: str) -> dict[str, Any]:
        answer = self.public.post("/api/public/build-transaction", {"route_id": route_id})
        assert answer.status_code == 200, answer.content
        return dict(answer.json()["transaction"])

    def submit(self, id_: str, route_id: str | None) -> Any:
        body = {"transaction_hash": id_, "chain_id": self.request.chain_id, "route_id": route_id}
        return self.public.post(f"{self.path}/payments", {k: v for k, v in body.items() if v is not None})

    def propose(self, account: Account, **options: Any) -> tuple[Proposed, Payment]:
        """Have the account's wallet propose the built payment; submit the id that the wallet returns."""
        route_id = self.route(account.address)
        proposed = proposal(account, self.build(route_id), **options)
        answer = self.submit(proposed.id, route_id)
        assert answer.status_code == 201, answer.content
        return proposed, Payment.objects.get(pk=answer.json()["id"])


def proposal(account: Account, call: dict[str, Any], **options: Any) -> Proposed:
    to, value, data = call["to"], int(call["value"], 16), bytes.fromhex(call["data"][2:])
    if isinstance(account, RealSafe):
        execution = account.execution(to, data, value=value, **options)
    else:
        operation = account.operation(execute(to, value, data), **options)
        execution = handle_ops(operation, version=account.version)
    return Proposed(account, account.proposed, execution)


def search(payment: Payment, clock: Clock) -> Payment:
    """Run one search that is due; verify the payment if it was found."""
    due = Lookup.objects.get(of_payment=payment).proposal_check_at
    if due is not None:
        clock.forward(seconds=max((due - clock()).total_seconds(), 0) + 0.01)
        search_proposals(now=clock)
    payment.refresh_from_db()
    return payment


def verify(payment: Payment, clock: Clock, looks: int = 10) -> Payment:
    """Search and verify until the payment is decided, at most `looks` times."""
    for _ in range(looks):
        if not search(payment, clock).is_open:
            break
        look(clock)
        payment.refresh_from_db()
        due = payment.lookup.next_check_at
        if due is not None:
            clock.forward(seconds=max((due - clock()).total_seconds(), 0) + 0.01)
    return payment


def accounts(world: World, kind: str) -> Account:
    """Return a new, funded account of this kind: `safe 1.3.0`, or `operation 0.7`."""
    name, version = kind.split()
    return world.safe(version) if name == "safe" else world.account(version)
