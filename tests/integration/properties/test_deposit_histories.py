"""Random histories of deposit addresses: payments, sweeps, refunds and reorganisations, in tokens and native coin.

Two requests of one merchant share a recipient, and each has a deposit address. Customers send to the addresses
and to the recipient: with one reference, with the other, with none, or several transfers in one transaction.
One wallet signed a proof for the first request. Anyone sweeps and submits any hash for either request. The
merchant accepts every payment that can be accepted.

In the end, each request was credited with everything that its address received. Nothing was credited twice, and
no sweep was credited. `SEQUENCES=2000` tries that many histories of each kind (default 40).
"""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from random import Random

import pytest
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chains.client import TransactionFacts, Transfer
from chains.models import Chain, Token
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.models import (
    ConsumedTransfer,
    DepositAddress,
    Lookup,
    PayerProof,
    Payment,
    PaymentRequest,
    Route,
    WaitingArrival,
)
from payments.refunds import services
from payments.requests.lifecycle import cancel_request
from payments.submission.hashes import sight_for_merchant, submit_for_merchant, submit_hash
from payments.submission.merchant_acceptance import accept_payment
from tests.support.payments.coins import CoinChain
from tests.support.payments.deposits import EXCHANGE, give_address
from tests.support.payments.world import Clock, look, make_request
from tests.verifying import check_finality, discover_due

ASKED, DEPTH = 10_000, 3
RECIPIENT = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
WALLET, STRANGER = "0x000000000000000000000000000000000000A11c", "0x0000000000000000000000000000000000000B0b"
ACTIONS = (
    *("send", "send", "send", "send_to_recipient", "send_both", "sweep", "sweep", "submit", "submit"),
    *("mine", "search", "search", "verify", "verify", "finalize", "accept", "reorganise", "refund"),
)


class History:
    """Two requests with one recipient, on a chain with random events.

    `sent` has all transactions that were ever mined.
    """

    def __init__(self, requests: Sequence[PaymentRequest], seed: int) -> None:
        self.requests, self.random, self.clock = requests, Random(seed), Clock()
        self.nodes = CoinChain(finalized=0)
        self.token = requests[0].token.contract_address
        self.sent: dict[str, TransactionFacts] = {}

    def step(self) -> None:
        getattr(self, self.random.choice(ACTIONS))()

    @property
    def request(self) -> PaymentRequest:
        chosen = self.random.choice(self.requests)
        chosen.refresh_from_db()
        return chosen

    @property
    def amount(self) -> int:
        return self.random.choice((1, 9, 10, 400, 3_000, ASKED // 2, ASKED, ASKED + 1))

    def send(self) -> None:
        """A customer pays one address or both. A reference may be added, or an immediate sweep may follow."""
        request = self.request
        moved = [self.moved("0", str(request.deposit_address), self.amount)]
        if self.random.random() < 0.2:
            moved.append(self.moved("1", str(self.request.deposit_address), self.amount))
        self.mined(moved)

    def send_to_recipient(self) -> None:
        self.mined([self.moved("0", RECIPIENT, self.amount)])

    def send_both(self) -> None:
        self.mined(
            [
                self.moved("0", str(self.request.deposit_address), self.amount),
                self.moved("1", RECIPIENT, self.amount),
            ]
        )

    def moved(self, slot: str, to: str, amount: int, sender: str = "") -> Transfer:
        made_by = self.random.choice((EXCHANGE, WALLET, STRANGER))
        references = [(), *((bytes(each.reference),) for each in self.requests)]
        return Transfer(
            slot,
            self.token,
            sender or made_by,
            to,
            amount,
            references=() if sender else self.random.choice(references),
            made_by=sender or made_by,
        )

    def mined(self, moved: Sequence[Transfer], hash_: str = "", is_sweep: bool = False) -> None:
        """Mine a transaction with these transfers, in a new block or the newest."""
        if is_sweep or self.random.random() < 0.7:
            self.nodes.mine()
        self.nodes.height = max(self.nodes.height, (self.nodes.finalized or 0) + 1)
        hash_ = hash_ or f"0x{len(self.sent) + 1:064x}"
        block = self.nodes.block(self.nodes.height)
        facts = TransactionFacts(hash_, moved[0].made_by, None, block, True, tuple(moved))
        self.nodes.facts[hash_] = self.sent[hash_] = facts
        if self.token == "":
            own = {each.deposit_address for each in self.requests}
            self.nodes.arrivals += [
                (block.number, t.recipient, t.amount) for t in moved if t.recipient in own
            ]

    def sweep(self) -> None:
        address = str(self.request.deposit_address)
        held = self.held(address)
        if not held:
            return
        self.mined([self.moved("0", RECIPIENT, held, sender=address)], is_sweep=True)
        if self.token == "":
            self.nodes.sweeps.append((self.nodes.height, address, held))

    def held(self, address: str) -> int:
        transfers = [t for facts in self.nodes.facts.values() for t in facts.transfers]
        came = sum(t.amount for t in transfers if t.recipient == address)
        return came - sum(t.amount for t in transfers if t.sender == address)

    def submit(self) -> None:
        if not self.sent:
            return
        hash_, request = self.random.choice(sorted(self.sent)), self.request
        with suppress(ApiError):
            if self.random.random() < 0.5:
                arguments = {"chain": request.chain, "transaction_hash": hash_, "actor": "checkout"}
                submit_hash(request, **arguments, client=self.nodes.of)
            else:
                sighting = sight_for_merchant(request, request.chain, hash_, client=self.nodes.of)
                arguments = {"chain": request.chain, "transaction_hash": hash_, "actor": "api"}
                submit_for_merchant(request, **arguments, sighting=sighting)

    def accept(self) -> None:
        """The merchant accepts all payments that can be accepted."""
        for payment in Payment.objects.filter(status="failed", request__in=self.requests):
            with suppress(ApiError):
                accept_payment(payment, reason="a random history", actor="merchant")

    def refund(self) -> None:
        request = self.request
        with suppress(ApiError):
            cancel_request(request.pk, actor="merchant")
        with suppress(ApiError):
            services.create_refund(
                request.pk,
                amount=1,
                recipient_address=WALLET,
                payment_id=None,
                reason=None,
                actor="merchant",
            )

    def mine(self) -> None:
        self.nodes.mine(self.random.randint(1, DEPTH))

    def search(self) -> int:
        self.clock.forward(seconds=10)
        return discover_due(client=self.nodes.of, now=self.clock)

    def verify(self) -> None:
        self.clock.forward(seconds=5)
        look(self.clock, self.nodes.of)

    def finalize(self) -> None:
        """Mark old blocks as final. No reorganisation removes them."""
        final = self.random.randint(self.nodes.finalized or 0, max(self.nodes.height - DEPTH, 0))
        self.nodes.finalized = max(final, self.nodes.finalized or 0)

    def reorganise(self) -> None:
        """Replace the newest blocks, sometimes with credited payments.

        Some payments are mined again, sweeps are not.
        """
        lowest = max((self.nodes.finalized or 0) + 1, self.nodes.height - self.random.randint(0, 2 * DEPTH))
        lost = [facts for facts in self.nodes.facts.values() if facts.block and facts.block.number >= lowest]
        self.nodes.reorganise(lowest)
        addresses = {each.deposit_address for each in self.requests}
        for facts in lost:
            if facts.transfers[0].sender not in addresses and self.random.random() < 0.7:
                self.mined(facts.transfers, facts.hash)

    def end(self) -> None:
        """Make everything final, found and verified."""
        for _ in range(50):
            self.nodes.mine(2 * DEPTH)
            self.nodes.finalized = self.nodes.height - DEPTH
            self.search()
            self.verify()
            self.clock.forward(minutes=40)
            check_finality(client=self.nodes.of, now=self.clock)
            # The last search may have found a payment that still has to wait.
            if self.is_quiet and not self.search() and self.is_quiet:
                break

    @property
    def is_quiet(self) -> bool:
        """Whether no search, lookup or check is left."""
        is_due = Q(next_check_at__isnull=False) | Q(finality_check_at__isnull=False)
        return not (
            Lookup.objects.filter(is_due).exists()
            or WaitingArrival.objects.exists()
            or DepositAddress.objects.filter(waiting_block__isnull=False).exists()
        )

    def check(self) -> None:
        """Compare every credit with the final chain."""
        moved = {(h, t.slot): t for h, facts in self.nodes.facts.items() for t in facts.transfers}
        addresses = {str(each.deposit_address) for each in self.requests}
        came: Counter[str] = Counter()
        for transfer in moved.values():
            came[transfer.recipient] += transfer.amount if transfer.sender not in addresses else 0
        credited: Counter[str] = Counter()
        by_payment: Counter[str] = Counter()
        for row in ConsumedTransfer.objects.filter(payment__reorged=False).select_related("payment__request"):
            assert row.payment.status == "completed"
            by_payment[row.payment_id] += row.amount
            own = row.payment.request.deposit_address
            if row.payment.deposit_sequence is not None:
                credited[str(own)] += row.amount
                continue
            transfer = moved[row.transaction_hash, row.slot]
            assert transfer.sender not in addresses, "no sweep is credited"
            assert transfer.recipient in (own, RECIPIENT), (
                "what came to an address counts for its request alone"
            )
            assert row.amount <= transfer.amount
            credited[transfer.recipient] += row.amount
        for request in self.requests:
            request.refresh_from_db()
            address = str(request.deposit_address)
            assert credited[address] == came[address], "credited is what the address received"
            counted = request.payments.filter(status="completed", reorged=False)
            received = {each.pk: each.amount_received for each in counted}
            assert {pk: by_payment[pk] for pk in received} == received
            assert request.amount_paid - request.amount_reorged == sum(received.values())
            if self.token == "":
                row = DepositAddress.objects.get(request=request)
                left = sum(amount for _, of, amount in self.nodes.sweeps if of == address)
                assert row.swept == left, "swept and waiting are what came"
                assert self.held(address) + left == came[address]
        assert credited[RECIPIENT] <= came[RECIPIENT]


def prove(request: PaymentRequest, token: Token) -> None:
    """Store a proof of the wallet for the request that is valid during the whole history."""
    now = timezone.now()
    route = Route.objects.create(
        request=request, chain=request.chain, token=token, wallet_address=WALLET, amount=ASKED, expires_at=now
    )
    PayerProof.objects.create(
        request=request,
        route=route,
        chain=request.chain,
        token=token,
        recipient_address=request.recipient_address,
        address=WALLET,
        message="",
        signature="",
        not_before=now - timedelta(days=1),
        not_after=now + timedelta(days=1),
        verified_at=now - timedelta(days=1),
        head_block=0,
    )


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["token", "coin"])
@settings(
    max_examples=int(os.environ.get("SEQUENCES", "40")),
    deadline=None,
    # Don't shrink: a smaller seed is not a simpler history.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**64), steps=st.integers(5, 60), is_proved=st.booleans())
def test_credited_is_what_the_addresses_received(
    merchant: Merchant,
    chain: Chain,
    usdc: Token,
    ether: Token,
    kind: str,
    seed: int,
    steps: int,
    is_proved: bool,
) -> None:
    token, amount = (usdc, "0.01") if kind == "token" else (ether, "0.00000000000001")
    with transaction.atomic():
        Chain.objects.filter(pk=chain.pk).update(confirmations=str(DEPTH))
        requests = [make_request(merchant, token, amount, RECIPIENT) for _ in range(2)]
        for number, request in enumerate(requests):
            give_address(request, number)
        if is_proved:
            prove(requests[0], token)
        history = History(requests, seed)
        for _ in range(steps):
            history.step()
        history.end()
        try:
            history.check()
        except AssertionError as error:
            raise AssertionError(f"{error}; seed {seed}, {steps} steps, proved: {is_proved}") from error
        transaction.set_rollback(True)
