"""Actions of customers, merchants and thieves.

On the chain they act directly, on the service by calls to a web process.
"""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from chains.models import Token
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.discovery.search import expect_by_link
from payments.models import Payment, PaymentRequest
from payments.refunds.services import create_refund, reserve_to_send
from payments.requests.creation import NewRequest, create_request
from payments.requests.lifecycle import cancel_request
from payments.submission.hashes import retry_payment, submit_for_merchant, submit_hash
from tests.integration.properties.ledger import MERCHANT, POOL, THE_THIEFS, Move, Sent
from tests.integration.simulation.outside import Nodes

CUSTOMER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
_TRIES = 6


@dataclass
class Call:
    """A call to a web process. It is retried until it gets a response, which may be an ApiError."""

    name: str
    make: Callable[[], object]
    is_answered: bool = False
    tries: int = 0

    def __call__(self) -> None:
        self.tries += 1
        with suppress(ApiError):
            self.make()
        self.is_answered = True

    @property
    def is_made_again(self) -> bool:
        return not self.is_answered and self.tries < _TRIES


@dataclass
class People:
    """The people of a history, and their calls that wait for a free web process."""

    merchants: list[Merchant]
    token: Token
    nodes: Nodes
    chance: random.Random
    waiting: list[Call] = field(default_factory=list)
    requests: list[PaymentRequest] = field(default_factory=list)
    wallets: int = 0

    def act(self) -> str:
        """Do a random action of one person; return its name."""
        actions = [self.order, self.order, self.pay, self.pay, self.steal, self.speed_up, self.bundle]
        action = self.chance.choice([*actions, self.cancel, self.refund, self.retry])
        action()
        return action.__name__

    def order(self) -> None:
        """Create a request; often, pay it."""
        merchant, amount = self.chance.choice(self.merchants), self.chance.randint(10, 99)
        lifetime = timedelta(minutes=self.chance.choice((1, 5, 60)))
        pays = self.chance.random() < 0.8

        def create() -> None:
            request = create_request(
                merchant, NewRequest(self.token, amount, MERCHANT, lifetime, references=True), actor="api"
            )
            expect_by_link(request)
            self.requests.append(request)
            if pays:
                self._pay(request)

        self._call("create", create)

    def pay(self) -> None:
        """Pay a request, which may already be paid."""
        if self.requests:
            self._pay(self.chance.choice(self.requests))

    def _pay(self, request: PaymentRequest) -> None:
        part = self.chance.choice((1.0, 1.0, 1.0, 1.0, 0.5, 1.5))
        succeeds = self.chance.random() < 0.95
        sent = self._send([self._move(request, int(request.amount * part))], succeeds=succeeds)
        if self.chance.random() < 0.75:  # else the customer closed the page
            self._submit(request, sent)

    def bundle(self) -> None:
        """Pay two requests in one transaction."""
        if len(self.requests) > 1:
            first, second = self.chance.sample(self.requests, 2)
            sent = self._send([self._move(first, first.amount), self._move(second, second.amount)])
            self._submit(first, sent)
            self._submit(second, sent)

    def steal(self) -> None:
        """Submit another customer's transaction."""
        if self.requests and self.nodes.sent:
            self._submit(
                self.chance.choice(self.requests), self.chance.choice(list(self.nodes.sent.values()))
            )

    def speed_up(self) -> None:
        """Send the same transaction with a higher fee and the same nonce."""
        pool = [each for each in self.nodes.sent.values() if each.at == POOL]
        if pool:
            old = self.chance.choice(pool)
            self.nodes.replace(old, old.moves, old.effect)

    def cancel(self) -> None:
        if self.requests:
            request = self.chance.choice(self.requests)
            self._call("cancel", lambda: cancel_request(request.pk, actor="api"))

    def refund(self) -> None:
        """Create a refund of a request's paid amount, and send it."""
        if not self.requests:
            return
        request = self.chance.choice(self.requests)
        is_submitted = self.chance.random() < 0.5

        def send() -> None:
            current = create_refund(
                request.pk, amount=None, recipient_address=CUSTOMER, payment_id=None, reason=None, actor="api"
            )
            carrier = current.refund.carrier
            if carrier is None:
                raise RuntimeError("a refund with an address has a carrier")
            expect_by_link(carrier)
            reserve_to_send(carrier, actor="api")
            move = Move(carrier.amount, MERCHANT, CUSTOMER, THE_THIEFS, MERCHANT, (bytes(carrier.reference),))
            sent = self.nodes.send(MERCHANT, [move], effect=f"refund {carrier.pk}")
            if is_submitted:
                self._call(
                    "submit",
                    lambda: submit_for_merchant(
                        carrier, chain=self.token.chain, transaction_hash=sent.hash, actor="api"
                    ),
                )

        self._call("refund", send)

    def retry(self) -> None:
        place = self.chance.random()

        def again() -> None:
            failed = list(Payment.objects.filter(status=Payment.Status.FAILED).order_by("pk"))
            if failed:
                retry_payment(failed[int(place * len(failed))], actor="api")

        self._call("retry", again)

    def _submit(self, request: PaymentRequest, sent: Sent) -> None:
        submitter = f"client {self.chance.randint(0, 3)}"

        def submit() -> None:
            submit_hash(
                request,
                chain=self.token.chain,
                transaction_hash=sent.hash,
                actor="checkout",
                submitter=submitter,
                client=self.nodes,
            )

        self._call("submit", submit)

    def _call(self, name: str, make: Callable[[], object]) -> None:
        self.waiting.append(Call(name, make))

    def _send(self, moves: list[Move], *, succeeds: bool = True) -> Sent:
        return self.nodes.send(moves[0].sender, moves, effect=f"effect {self.wallets}", succeeds=succeeds)

    def _move(self, request: PaymentRequest, units: int) -> Move:
        self.wallets += 1
        payer = f"0xcustomer-{self.wallets}"
        return Move(
            units, payer, MERCHANT, frozenset({request.pk}), payer, references=(bytes(request.reference),)
        )
