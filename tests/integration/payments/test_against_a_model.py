"""Random actions of merchants, customers, chains and clocks, compared with a short model.

The model has no leases, locks or rows. It says which status each request and payment should have. The service
must agree after every step. `SEQUENCES=2000` tries that many sequences (default 50). `make properties` tries as
many as histories of customers and thieves.
"""

import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chains.client import Block, Head, Snapshot, TransactionFacts, Transfer
from chains.models import Chain, Token
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest
from payments.requests.lifecycle import cancel_request, expire_due
from payments.submission.hashes import retry_payment
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.support.payments.rows import bring_forward
from tests.support.payments.world import Clock, make_request, submit
from tests.verifying import check_finality, verify_due
from webhooks.models import Event

DEPTH = 2
RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
PAYER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
USDC = "0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35"

Where = Literal["pool", "dropped"] | int


@dataclass
class FakeTransaction:
    """A transaction on the fake chain. `where` says if it is in the pool, dropped, or in the block of this height."""

    hash: str
    amount: int
    reference: bytes
    succeeds: bool
    where: Where
    mined: int = 0


@dataclass
class FakeChain:
    """A scripted chain with the interface of the real clients."""

    height: int = 100
    blocks_made: int = 0
    transactions: dict[str, FakeTransaction] = field(default_factory=dict)

    def mine(self) -> None:
        self.height += 1
        self.blocks_made += 1
        for sent in self.transactions.values():
            if sent.where == "pool":
                sent.where, sent.mined = self.height, self.blocks_made

    def reorganise(self, *, drop: bool) -> None:
        """Undo the newest block. Its transactions return to the pool, or are dropped."""
        for sent in self.transactions.values():
            if sent.where == self.height:
                sent.where = "dropped" if drop else "pool"
        self.height -= 1

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        return Snapshot(Head(self.height), {wanted: self._facts(wanted) for wanted in hashes})

    def transaction_counts(self, senders: Sequence[str]) -> Mapping[str, int]:
        return {}

    def _facts(self, wanted: str) -> TransactionFacts | None:
        sent = self.transactions.get(wanted)
        if sent is None or sent.where == "dropped":
            return None
        moved = (Transfer("0", USDC, PAYER, RECIPIENT, sent.amount, (sent.reference,)),)
        if sent.where == "pool":
            return TransactionFacts(wanted, PAYER, None, None, succeeded=False, transfers=(), intended=moved)
        block = Block(int(sent.where), f"0x{sent.mined:064x}", timezone.now())
        return TransactionFacts(wanted, PAYER, None, block, sent.succeeds, moved if sent.succeeds else ())


@dataclass
class ModelPayment:
    transaction: FakeTransaction | None
    status: str = "open"
    misses: int = 0
    retries: int = 0
    reopened: bool = False
    in_flight: bool = False
    is_promised: bool = False
    is_seen: bool = False
    failed_in: int = 0
    is_final: bool = False

    @property
    def holds(self) -> bool:
        """Whether the payment prevents the request's cancellation at the current time."""
        return self.in_flight or self.is_promised or not self.is_seen

    @property
    def is_retryable(self) -> bool:
        is_open_question = self.status == "missing" or (self.status == "reverted" and not self.is_final)
        return is_open_question and self.retries < 3

    def reopen(self) -> None:
        self.status, self.misses, self.in_flight, self.is_promised = "open", 0, False, False


@dataclass
class ModelRequest:
    amount: int
    status: str = "active"
    paid: int = 0
    was_expired: bool = False
    was_full: bool = False
    payments: dict[str, ModelPayment] = field(default_factory=dict)

    @property
    def open(self) -> list[ModelPayment]:
        return [payment for payment in self.payments.values() if payment.status == "open"]

    def look(self, height: int) -> None:
        for payment in self.open:
            self._look_at(payment, height)

    def _look_at(self, payment: ModelPayment, height: int) -> None:
        sent = payment.transaction
        payment.in_flight = payment.is_promised = False
        payment.is_seen |= sent is not None and sent.where != "dropped"
        if sent is None or sent.where == "dropped":
            payment.misses += 1
            payment.status = "missing" if payment.misses > 10 else "open"
        elif sent.where == "pool":
            payment.is_promised = True
        elif isinstance(sent.where, int) and height - sent.where + 1 < DEPTH:
            payment.in_flight = sent.succeeds
        elif not sent.succeeds:
            payment.status, payment.failed_in, payment.is_final = "reverted", sent.mined, False
        else:
            payment.status = "completed"
            self._credit(sent.amount)

    def check_finality(self, height: int) -> None:
        for payment in self.payments.values():
            sent = payment.transaction
            if sent is None or payment.status != "reverted" or payment.is_final:
                continue
            if not isinstance(sent.where, int) or sent.mined != payment.failed_in:
                payment.reopen()
            elif height - sent.where + 1 >= 2 * DEPTH:
                payment.is_final = True

    def _credit(self, amount: int) -> None:
        self.paid += amount
        if self.paid >= self.amount:
            self.was_full = True
            if self.status in ("active", "expired"):
                self.status = "completed"

    def cancel(self) -> None:
        if self.status == "active" and not any(payment.holds for payment in self.open):
            self.status = "cancelled"

    def expire(self) -> None:
        if self.status == "active" and not any(payment.in_flight for payment in self.open):
            self.status, self.was_expired = "expired", True


class Comparison:
    """The service and the model, which execute the same steps."""

    def __init__(self, merchant: Merchant, token: Token) -> None:
        self.merchant, self.token = merchant, token
        self.chain, self.clock = FakeChain(), Clock()
        self.requests: dict[Any, ModelRequest] = {}
        self.hours = 0

    def step(self, action: str, which: int, amount: int) -> None:
        getattr(self, f"do_{action}")(which, amount)
        self.agree()

    def pick(self, which: int) -> tuple[PaymentRequest, ModelRequest] | None:
        if not self.requests:
            return None
        key = list(self.requests)[which % len(self.requests)]
        return PaymentRequest.objects.get(pk=key), self.requests[key]

    def do_create(self, which: int, amount: int) -> None:
        request = make_request(self.merchant, self.token, f"0.00000{amount}", RECIPIENT)
        self.requests[request.pk] = ModelRequest(amount)

    def do_pay(self, which: int, amount: int, *, succeeds: bool = True) -> None:
        picked = self.pick(which)
        if picked is None or len(picked[1].open) >= 5:
            return
        request, model = picked
        sent = FakeTransaction(
            "0x" + secrets.token_hex(32), amount, bytes(request.reference), succeeds, "pool"
        )
        self.chain.transactions[sent.hash] = sent
        submit(request, sent.hash)
        model.payments[sent.hash] = ModelPayment(sent)

    def do_revert(self, which: int, amount: int) -> None:
        self.do_pay(which, amount, succeeds=False)

    def do_garbage(self, which: int, amount: int) -> None:
        picked = self.pick(which)
        if picked is None or len(picked[1].open) >= 5:
            return
        unknown = "0x" + secrets.token_hex(32)
        submit(picked[0], unknown)
        picked[1].payments[unknown] = ModelPayment(None)

    def do_mine(self, which: int, amount: int) -> None:
        self.chain.mine()

    def do_reorg(self, which: int, amount: int) -> None:
        # Only the newest block is ever undone. Nothing counts in it yet, because DEPTH is 2.
        self.chain.reorganise(drop=amount % 2 == 0)

    def do_look(self, which: int, amount: int) -> None:
        for _ in range(12 if amount == 9 else 1):
            bring_forward(self.clock())
            verify_due(client=lambda _: self.chain, now=self.clock)  # type: ignore[arg-type,return-value]
            for model in self.requests.values():
                model.look(self.chain.height)

    def do_expire(self, which: int, amount: int) -> None:
        if self.hours >= 20:  # a day without a response would be another step
            return
        self.hours += 2
        self.clock.forward(hours=2)
        expire_due(self.clock())
        for model in self.requests.values():
            model.expire()

    def do_cancel(self, which: int, amount: int) -> None:
        picked = self.pick(which)
        if picked is None:
            return
        with suppress(ApiError):
            cancel_request(picked[0].pk, actor="model")
        picked[1].cancel()

    def do_retry(self, which: int, amount: int) -> None:
        picked = self.pick(which)
        for hash_, model in picked[1].payments.items() if picked else ():
            payment = Payment.objects.get(transaction_hash=hash_)
            with suppress(ApiError):
                retry_payment(payment, actor="model")
            if model.is_retryable:
                model.reopen()
                model.retries += 1

    def do_finality(self, which: int, amount: int) -> None:
        for _ in range(CHECKS_BEFORE_ALERT):
            Lookup.objects.filter(finality_check_at__isnull=False).update(finality_check_at=self.clock())
            check_finality(client=lambda _: self.chain, now=self.clock)  # type: ignore[arg-type,return-value]
        for model in self.requests.values():
            model.check_finality(self.chain.height)

    def do_submit_again(self, which: int, amount: int) -> None:
        picked = self.pick(which)
        for hash_, model in picked[1].payments.items() if picked else ():
            assert picked is not None
            submit(picked[0], hash_)
            if model.is_retryable and not model.reopened and len(picked[1].open) < 5:
                model.reopen()
                model.retries += 1
                model.reopened = True

    def agree(self) -> None:
        for request in PaymentRequest.objects.filter(pk__in=self.requests):
            model = self.requests[request.pk]
            assert (request.status, request.amount_paid) == (model.status, model.paid)
            told = {
                (payment.transaction_hash, _in_words(payment))
                for payment in Payment.objects.filter(request=request)
            }
            assert told == {(hash_, payment.status) for hash_, payment in model.payments.items()}
        completed = [
            p for m in self.requests.values() for p in m.payments.values() if p.status == "completed"
        ]
        assert ConsumedTransfer.objects.count() == len(completed)
        full = sum(model.was_full for model in self.requests.values())
        assert Event.objects.filter(type="payment.succeeded").count() == full
        expired = sum(model.was_expired for model in self.requests.values())
        assert Event.objects.filter(type="payment.expired").count() == expired


def _in_words(payment: Payment) -> str:
    if payment.is_open:
        return "open"
    return {"transaction_not_found": "missing", "transaction_reverted": "reverted", "": "completed"}[
        payment.failure_code
    ]


ACTIONS = (
    *("create", "pay", "pay", "pay", "mine", "mine", "look", "look", "look"),
    *("revert", "garbage", "reorg", "expire", "cancel", "retry", "submit_again", "finality"),
)
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 3), st.integers(1, 9)), min_size=4, max_size=24
)


@pytest.mark.django_db
@settings(
    max_examples=int(os.environ.get("SEQUENCES", "50")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_the_service_agrees_with_the_model(merchant: Merchant, steps: list[tuple[str, int, int]]) -> None:
    with transaction.atomic():
        chain = Chain.objects.create(
            id=1, name="Model", chain_type="evm", native_symbol="ETH", confirmations=str(DEPTH)
        )
        token = Token.objects.create(
            chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=USDC
        )
        comparison = Comparison(merchant, token)
        comparison.step("create", 0, 3)
        for action, which, amount in steps:
            comparison.step(action, which, amount)
        transaction.set_rollback(True)
