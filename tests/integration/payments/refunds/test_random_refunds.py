"""Random payments, refunds and reorganisations on a real chain.

The refunded amounts are always those on the chain.
"""

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided, make_request, pay, submit
from tests.verifying import check_finality

ASKED = 1_000


@dataclass
class Sequence:
    """A request and the address for its refunds.

    By refund id: the built transactions, and the raw transactions that were sent.
    """

    api: Api
    chain: LocalChain
    request: PaymentRequest
    customer: str
    sent: dict[str, str] = field(default_factory=dict)
    built: dict[str, dict[str, Any]] = field(default_factory=dict)

    def refunds(self) -> list[dict[str, Any]]:
        """Return the refunds from the API, oldest first."""
        shown = self.api.get(f"/api/payment-requests/{self.request.id}/refunds").json()["data"]
        return sorted(shown, key=lambda each: str(each["created_at"]))

    def one_that_is(self, which: int, *statuses: str) -> dict[str, Any] | None:
        """Return a refund in one of these statuses; `which` selects it."""
        found = [each for each in self.refunds() if each["status"] in statuses]
        return found[which % len(found)] if found else None

    def submit(self, refund: dict[str, Any], hash_: str) -> None:
        self.api.post(f"/api/refunds/{refund['id']}/submit", {"transaction_hash": hash_})
        look_until_decided(Payment.objects.get(transaction_hash=hash_), Clock())


def pay_some(sequence: Sequence, _which: int, units: int) -> None:
    """The customer pays a part of the amount, or too much."""
    sequence.request.refresh_from_db()
    if sequence.request.status == "active":
        look_until_decided(submit(sequence.request, pay(sequence.chain, sequence.request, units)), Clock())


def refund(sequence: Sequence, which: int, units: int) -> None:
    """The merchant creates a refund of a part of the payment, or of the rest. The amount may be too large."""
    sequence.request.refresh_from_db()
    part = 1 + units % max(sequence.request.amount_paid, 1)
    amount = {"amount": f"{part / 10**6:.6f}"} if which % 3 else {}
    body = {"recipient_address": sequence.customer, **amount}
    sequence.api.post(f"/api/payment-requests/{sequence.request.id}/refunds", body)


def cancel(sequence: Sequence, which: int, _units: int) -> None:
    """The merchant cancels a refund and never signs its built transaction."""
    if chosen := sequence.one_that_is(which, "ready"):
        sequence.api.post(f"/api/refunds/{chosen['id']}/cancel")
        sequence.built.pop(chosen["id"], None)


def build(sequence: Sequence, which: int, _units: int) -> dict[str, Any] | None:
    """The service builds a refund, which may have failed before. The merchant signs it later."""
    chosen = sequence.one_that_is(which, "failed") or sequence.one_that_is(which, "ready")
    if chosen is None:
        return None
    wallet = {"wallet_address": sequence.chain.payer}
    answer = sequence.api.post(f"/api/refunds/{chosen['id']}/build", wallet)
    if answer.status_code != 200:
        return None
    sequence.built[chosen["id"]] = answer.json()["transaction"]
    return chosen


def send(sequence: Sequence, which: int, units: int) -> None:
    """The merchant signs the built transaction. Sometimes the refund is cancelled before the transaction is sent."""
    ready = sequence.one_that_is(which, "ready")
    chosen = ready if ready and ready["id"] in sequence.built else build(sequence, which, units)
    if chosen is None:
        return
    raw = "0x" + sequence.chain.sign(sequence.built.pop(chosen["id"])).hex()
    if units % 5 == 0:
        sequence.api.post(f"/api/refunds/{chosen['id']}/cancel")
    hash_ = sequence.chain.send_raw(raw)
    sequence.sent[chosen["id"]] = raw
    sequence.submit(chosen, hash_)


def lose(sequence: Sequence, which: int, units: int) -> None:
    """The newest refund's block is reorganised away. Sometimes its transaction is mined again."""
    chosen = sequence.one_that_is(-1, "completed")
    newest = sequence.chain.rpc("eth_getBlockByNumber", "latest", False)["transactions"]
    if chosen is None or chosen["transaction_hash"] not in newest:
        return
    hash_ = chosen["transaction_hash"]
    sequence.chain.reorganise()
    sequence.chain.rpc("anvil_dropTransaction", hash_)
    clock = Clock()
    for _ in range(CHECKS_BEFORE_ALERT):
        sequence.chain.mine(70)
        clock.forward(minutes=3)
        check_finality(now=clock)
    if units % 2:
        sequence.submit(chosen, sequence.chain.send_raw(sequence.sent[chosen["id"]]))


ACTIONS: tuple[Callable[[Sequence, int, int], None], ...] = (
    pay_some,
    refund,
    refund,
    build,
    send,
    send,
    cancel,
    lose,
)
STEPS = st.lists(
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 11), st.integers(1, ASKED)), min_size=5, max_size=9
)


@settings(
    max_examples=int(os.environ.get("CHAIN_SEQUENCES", "12")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(first=st.integers(1, 2 * ASKED), steps=STEPS)
def test_refunded_amount_matches_chain_and_never_exceeds_paid(
    api: Api,
    merchant: Merchant,
    chain: Chain,
    usdc: Token,
    local_chain: LocalChain,
    first: int,
    steps: list[tuple[Callable[..., None], int, int]],
) -> None:
    customer = chain.family.normalise_address("0x" + uuid.uuid4().hex + "0" * 8)
    with transaction.atomic():
        request = make_request(merchant, usdc, "0.001", local_chain.recipient)
        sequence = Sequence(api, local_chain, request, customer)
        for action, which, units in [(pay_some, 0, first), *steps]:
            action(sequence, which, units)
            shown = api.get(f"/api/payment-requests/{request.id}").json()
            refunded, paid = int(shown["amount_refunded"]["raw"]), int(shown["amount_paid"]["raw"])
            assert refunded <= paid
            assert refunded == local_chain.token_balance(usdc.contract_address, customer)
        transaction.set_rollback(True)
