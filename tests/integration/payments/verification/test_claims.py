"""One worker leases a payment until the lease ends. A worker that is too slow changes nothing."""

import uuid
from collections.abc import Callable
from typing import Any, cast

from chains.client import ChainClient
from chains.families import get_client
from chains.models import Chain, Token
from payments.models import ConsumedTransfer, FailureCode, Payment, PaymentRequest
from payments.verification.outcomes import Failed
from payments.verification.storing import store
from tests.chain import LocalChain
from tests.leases import end_leases
from tests.support.payments.rows import change
from tests.support.payments.world import Clock, look, pay, submit
from tests.verifying import claim_due, verify_on_chain


def test_leased_payment_is_not_verified_until_its_lease_expires(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    payment = submit(request, pay(local_chain, request))
    lease, claimed = claim_due(clock())
    assert [each.payment_id for each in claimed] == [payment.pk]
    assert look(clock) == 0
    end_leases()
    assert look(clock) == 1
    payment.refresh_from_db()
    assert payment.status == Payment.Status.COMPLETED
    # The first worker continues only now.
    late = Failed(claimed[0].payment, FailureCode.TRANSACTION_REVERTED, "late")
    assert store([late], lease.claim_id, clock()) == set()
    payment.refresh_from_db()
    assert payment.status == Payment.Status.COMPLETED


def test_a_result_without_the_claim_is_dropped_whole(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request, clock = request_for(), Clock()
    payment = submit(request, pay(local_chain, request))

    class Slow:
        """A client whose response comes after another worker took over the payment."""

        def look_up(self, hashes: Any, **options: Any) -> Any:
            snapshot = get_client(request.chain).look_up(hashes, **options)
            change(payment, claim_id=uuid.uuid4())
            return snapshot

    look(clock, client=lambda chain: Slow())
    payment.refresh_from_db()
    request.refresh_from_db()
    assert (payment.status, request.amount_paid) == (Payment.Status.PROCESSING, 0)
    assert not ConsumedTransfer.objects.exists()


def test_payment_with_lost_lease_is_neither_queried_nor_changed(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    kept, lost = (submit(request, pay(local_chain, request)) for request in (request_for(), request_for()))
    change(Payment.objects, nonce=10**9, from_address=local_chain.payer, attempts=1)
    lease, claimed = claim_due(Clock()())
    before = Payment.objects.values().get(pk=lost.pk)
    asked: list[list[str]] = []

    class Slow:
        """A client whose first response takes long."""

        def transaction_counts(self, senders: Any) -> dict[str, int]:
            lease.end(lost.lookup.pk)
            return dict.fromkeys(senders, 0)

        def look_up(self, hashes: Any, **options: Any) -> Any:
            asked.append(list(hashes))
            return get_client(kept.chain).look_up(hashes, **options)

    verify_on_chain(kept.chain, claimed, lease, client=lambda _: cast(ChainClient, Slow()), now=Clock())
    assert asked == [[kept.transaction_hash]]
    assert Payment.objects.get(pk=kept.pk).status == Payment.Status.COMPLETED
    assert Payment.objects.values().get(pk=lost.pk) == before


def test_one_chain_without_nodes_does_not_keep_another_waiting(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    dead = Chain.objects.create(id=4_242, name="Dead", chain_type="evm", rpc_urls=[], native_symbol="ETH")
    coin = Token.objects.create(chain=dead, symbol="ETH", name="Ether", decimals=18, contract_address="")
    stuck = submit(request_for("1", token=coin), "0x" + "aa" * 32)
    payment = submit(request, pay(local_chain, request))
    look(Clock())
    payment.refresh_from_db()
    stuck.refresh_from_db()
    assert (payment.status, stuck.status) == (Payment.Status.COMPLETED, Payment.Status.PROCESSING)
    assert stuck.attempts == 0
