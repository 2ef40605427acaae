"""A transaction that doesn't count fails at the required depth with a reason and one event. Nothing is credited."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from chains.models import Chain, Token
from demo.contracts import deploy
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, pay, submit
from webhooks.models import Event

AMOUNT = 10_000_000
NOWHERE = "0x000000000000000000000000000000000000dEaD"


def refused(request: PaymentRequest, transaction_hash: str, chain: Chain | None = None) -> Payment:
    """Submit, look up once, and check that only the payment changed."""
    payment = submit(request, transaction_hash, chain)
    look(Clock())
    payment.refresh_from_db()
    request.refresh_from_db()
    assert payment.status == Payment.Status.FAILED
    assert payment.amount_received is None
    assert (payment.is_in_flight, payment.is_bound_unmined, payment.likely_failure) == (False, False, "")
    assert (request.status, request.amount_paid) == (PaymentRequest.Status.ACTIVE, 0)
    assert not ConsumedTransfer.objects.exists()
    told = json.loads(bytes(Event.objects.get(type="payment.failed").body))["data"]["object"]
    assert told["failure_code"] == payment.failure_code
    assert told["failure_message"] == payment.failure_message
    assert (told["id"], told["amount"], told["status"]) == (payment.id, AMOUNT, "failed")
    return payment


def test_a_transfer_without_a_reference(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT)
    assert refused(request, sent).failure_code == "transaction_not_bound"


def test_a_stranger_claiming_the_payment_of_another_request(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    theirs, claimed_by = request_for(), request_for()
    sent = pay(local_chain, theirs)
    assert refused(claimed_by, sent).failure_code == "transaction_not_bound"
    own = submit(theirs, sent)
    look(Clock())
    own.refresh_from_db()
    assert own.status == Payment.Status.COMPLETED


def test_a_reference_with_one_bit_changed(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    almost = bytes(request.reference)[:-1] + bytes([bytes(request.reference)[-1] ^ 1])
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT, tail=almost)
    assert refused(request, sent).failure_code == "transaction_not_bound"


def test_a_reference_that_does_not_follow_the_arguments_directly(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    shifted = b"\0" + bytes(request.reference)
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT, tail=shifted)
    assert refused(request, sent).failure_code == "transaction_not_bound"


def test_another_token(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, dai: Token
) -> None:
    request = request_for()
    sent = local_chain.transfer(local_chain.dai, local_chain.recipient, AMOUNT, tail=bytes(request.reference))
    payment = refused(request, sent)
    assert payment.failure_code == "wrong_token"
    assert payment.status_detail == "The transaction paid DAI instead of USDC."


def test_a_look_alike_with_the_same_name_and_symbol(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    fake = deploy.deploy_token(local_chain.url, name="USD Coin", symbol="USDC", decimals=6)
    deploy.mint(local_chain.url, fake, local_chain.payer, AMOUNT)
    request = request_for()
    sent = local_chain.transfer(fake, local_chain.recipient, AMOUNT, tail=bytes(request.reference))
    assert refused(request, sent).failure_code == "wrong_token"


def test_native_coin_instead_of_the_token(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    sent = local_chain.transfer("", local_chain.recipient, AMOUNT, tail=bytes(request.reference))
    assert refused(request, sent).failure_code == "wrong_token"


def test_another_recipient(request_for: Callable[..., PaymentRequest], local_chain: LocalChain) -> None:
    request = request_for()
    sent = local_chain.transfer(local_chain.usdc, NOWHERE, AMOUNT, tail=bytes(request.reference))
    payment = refused(request, sent)
    assert payment.failure_code == "wrong_recipient"
    assert (
        payment.status_detail == f"The transaction sent 10 USDC to {NOWHERE}, not to {local_chain.recipient}."
    )


def test_a_transaction_that_moves_nothing(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 0, tail=bytes(request.reference))
    assert refused(request, sent).failure_code == "wrong_amount"


def test_a_reverted_transaction(request_for: Callable[..., PaymentRequest], local_chain: LocalChain) -> None:
    request = request_for()
    beyond = local_chain.token_balance(local_chain.usdc, local_chain.payer) + 1
    sent = local_chain.transfer(
        local_chain.usdc, local_chain.recipient, beyond, tail=bytes(request.reference)
    )
    assert refused(request, sent).failure_code == "transaction_reverted"


def test_a_transaction_from_before_the_request(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain
) -> None:
    request = request_for()
    sent = pay(local_chain, request)
    created = request.created_at + timedelta(minutes=2)
    PaymentRequest.objects.filter(pk=request.pk).update(created_at=created)
    assert refused(request, sent).failure_code == "transaction_too_old"


def test_a_transaction_on_another_chain(
    request_for: Callable[..., PaymentRequest], other_local_chain: LocalChain
) -> None:
    request = request_for()
    other = Chain.objects.create(
        id=other_local_chain.chain_id,
        name="Other Chain",
        chain_type="evm",
        rpc_urls=[other_local_chain.url],
        native_symbol="ETH",
    )
    sent = pay(other_local_chain, request)
    assert refused(request, sent, other).failure_code == "wrong_chain"


def test_a_node_that_serves_another_chain_is_never_believed(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, other_local_chain: LocalChain
) -> None:
    request = request_for()
    Chain.objects.filter(pk=request.chain_id).update(rpc_urls=[other_local_chain.url])
    payment = submit(request, pay(other_local_chain, request))
    look(Clock())
    payment.refresh_from_db()
    assert (payment.status, payment.attempts) == (Payment.Status.PROCESSING, 0)
    assert not ConsumedTransfer.objects.exists()


@pytest.mark.parametrize("tail", [b"", b"\x80\x21" * 20])
def test_bytes_after_the_reference_do_not_prevent_payment(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, tail: bytes
) -> None:
    request = request_for()
    reference = bytes(request.reference) + tail
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, AMOUNT, tail=reference)
    payment = submit(request, sent)
    look(Clock())
    payment.refresh_from_db()
    assert payment.status == Payment.Status.COMPLETED
