"""On a real chain, the sender of an unbound transfer can prove it afterwards."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.utils import timezone
from eth_account import Account

from chains.client import Block
from chains.models import Token
from checkout.lookup import find_payment, find_request
from demo.contracts import deploy
from payments.evaluation.proving import Provable
from payments.evaluation.sender_proofs import BINDS_FOR
from payments.models import Lookup, Payment, PaymentRequest, Solver, TransferProof
from payments.proofs import afterwards
from payments.proofs.messages import transfer_proof_message
from payments.requests.lifecycle import expire_due
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.payments.test_payer_proof import sign
from tests.support.payments.world import Clock, look, submit
from tests.threads import at_once

Make = Callable[..., PaymentRequest]


@pytest.fixture
def node(local_chain: LocalChain) -> LocalChain:
    return local_chain


def transfer(node: LocalChain, request: PaymentRequest, amount: int = 10 * 10**6, tail: bytes = b"") -> str:
    """Send the token without a reference, as most wallets do; return the hash."""
    unsigned = node.unsigned_transfer(
        request.token.contract_address, request.recipient_address, amount, tail=tail
    )
    return node.send(unsigned)


def path_of(payment: Payment) -> str:
    return f"/api/public/payment-requests/{payment.request_id}/payments/{payment.pk}/proof-message"


def message_for(public: Api, payment: Payment, wallet: str) -> Any:
    return public.post(path_of(payment), {"wallet_address": wallet})


def give(public: Api, payment: Payment, wallet: str, signature: str) -> Any:
    body = {"payment_id": payment.pk, "wallet_address": wallet, "signature": signature}
    return public.post(f"/api/public/payment-requests/{payment.request_id}/payer-proof", body)


def prove(public: Api, node: LocalChain, payment: Payment) -> Any:
    message = message_for(public, payment, node.payer)
    assert message.status_code == 200, message.content
    return give(public, payment, node.payer, sign(node, message.json()["message"]))


def looked(payment: Payment) -> Payment:
    look(Clock())
    payment.refresh_from_db()
    return payment


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_stripped_transfer_counts_once_its_sender_signs(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    request = request_for(description="Two flat\nwhites")
    payment = looked(submit(request, transfer(node, request)))
    assert payment.failure_code == "transaction_not_bound"
    answer = message_for(public, payment, node.payer)
    text = answer.json()["message"]
    merchant = request.merchant.display_name or request.merchant.name
    order = f"order Two flat whites ({request.shortcode})"
    assert f"\nMy transfer {payment.transaction_hash} pays {order} at {merchant} and no other.\n" in text
    assert answer.json()["expires_at"].startswith(
        (TransferProof.objects.get().created_at + timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%S")
    )
    given = give(public, payment, node.payer, sign(node, text))
    assert (given.status_code, given.json()["payment_id"], given.json()["route_id"]) == (
        200,
        payment.pk,
        None,
    )
    payment = looked(payment)
    assert (payment.status, payment.bound_by, payment.retries) == ("completed", "payer", 0)
    request.refresh_from_db()
    assert (request.status, request.paid_late) == ("completed", False)


@pytest.mark.django_db(transaction=True)
def test_calls_at_the_same_moment_share_one_message(
    request_for: Make, node: LocalChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, a stranger's calls could replace the message while the wallet signs it."""
    request, both = request_for(), Barrier(2)

    def written(*arguments: Any, **options: Any) -> str:
        with suppress(BrokenBarrierError):
            both.wait(timeout=1)
        return transfer_proof_message(*arguments, **options)

    monkeypatch.setattr(afterwards, "transfer_proof_message", written)
    payment = looked(submit(request, transfer(node, request)))
    payment = find_payment(payment.pk, of=find_request(request.shortcode))
    messages = at_once([partial(afterwards.offer_message, payment, wallet_address=node.payer)] * 2)
    assert len({message.message for message in messages}) == TransferProof.objects.count() == 1


def test_message_of_an_earlier_transaction_is_not_accepted(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    text = message_for(public, payment, node.payer).json()["message"]
    TransferProof.objects.update(transaction_hash="0x" + "12" * 32)
    assert refusal(give(public, payment, node.payer, sign(node, text))) == (400, "signature_invalid")
    assert looked(payment).status == "failed"


def test_order_without_a_description_is_named_by_its_code(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    text = message_for(public, payment, node.payer).json()["message"]
    assert f"pays order ({request.shortcode}) at " in text


def test_transfer_is_proved_before_its_block_is_deep(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    request = request_for()
    request.chain.confirmations = "1000"
    request.chain.save()
    payment = looked(submit(request, transfer(node, request)))
    assert (payment.status, payment.likely_failure) == ("processing", "transaction_not_bound")
    assert prove(public, node, payment).status_code == 200
    payment = looked(payment)
    assert (payment.status, payment.likely_failure, payment.is_in_flight) == ("processing", "", True)


def test_proof_at_the_last_second_keeps_the_request_open(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    """Between the signature and the next check, a sweep must not expire the request."""
    request = request_for()
    request.chain.confirmations = "1000"
    request.chain.save()
    payment = looked(submit(request, transfer(node, request)))
    assert prove(public, node, payment).status_code == 200
    expire_due(request.expires_at + timedelta(seconds=1))
    request.refresh_from_db()
    assert request.status == PaymentRequest.Status.ACTIVE
    payment.refresh_from_db()
    assert (payment.is_in_flight, payment.likely_failure) == (True, "")


def test_payment_that_continues_elsewhere_is_proved_again(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    """After a reorganisation, the wallet's speed-up was mined. It has no proof yet."""
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    assert prove(public, node, payment).status_code == 200
    again = transfer(node, request)
    Payment.objects.update(status=Payment.Status.FAILED, transaction_hash=again)
    Lookup.objects.update(transaction_hash=again, first_block_time=None, first_block_number=None)
    payment.refresh_from_db()
    assert prove(public, node, payment).status_code == 200
    assert looked(payment).bound_by == "payer"
    proved = TransferProof.objects.filter(verified_at__isnull=False, binds=True)
    assert set(proved.values_list("transaction_hash", flat=True)) >= {again}
    assert proved.count() == 2


def test_late_proof_of_a_part_is_not_shown_as_the_senders(
    public: Api, request_for: Make, node: LocalChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    PaymentRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    in_part = Provable(1, Block(1, "0x1", timezone.now()), is_all=False)
    monkeypatch.setattr(afterwards, "provable", lambda *_: in_part)
    assert prove(public, node, payment).status_code == 200
    payment.refresh_from_db()
    assert (payment.status, payment.sender_signed_at) == ("failed", None)


def test_late_proof_tells_the_merchant_and_binds_nothing(
    public: Api, request_for: Make, node: LocalChain, api: Api
) -> None:
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    PaymentRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = prove(public, node, payment)
    assert answer.status_code == 200
    payment = looked(payment)
    assert (payment.status, payment.failure_code) == ("failed", "transaction_not_bound")
    path = f"/api/payment-requests/{request.pk}/payments/{payment.pk}"
    assert api.post(f"{path}/accept", {"reason": "The sender signed"}).status_code == 200
    payment = looked(payment)
    assert (payment.status, payment.bound_by) == ("completed", "manual")
    request.refresh_from_db()
    assert (request.status, request.paid_late) == ("completed", True)
    shown = api.get(f"/api/payment-requests/{request.pk}").json()["payments"][0]
    assert shown["sender_signed_at"] == answer.json()["verified_at"]


def test_proof_more_than_an_hour_after_the_block_is_late(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    request = request_for(lifetime=timedelta(days=1))
    payment = looked(submit(request, transfer(node, request)))
    mined_at = timezone.now() - BINDS_FOR - timedelta(seconds=1)
    PaymentRequest.objects.update(created_at=mined_at)
    Lookup.objects.update(first_block_time=mined_at)
    assert prove(public, node, payment).status_code == 200
    assert looked(payment).status == "failed"
    assert payment.sender_signed_at is not None
    assert not TransferProof.objects.get().binds


def test_one_transfer_is_not_proved_for_two_requests(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    first, second = request_for(), request_for()
    hash_ = transfer(node, first)
    payments = [looked(submit(each, hash_)) for each in (first, second)]
    texts = [message_for(public, each, node.payer).json()["message"] for each in payments]
    assert give(public, payments[0], node.payer, sign(node, texts[0])).status_code == 200
    # This message was signed before the other proof was given, when nothing was credited yet.
    answer = give(public, payments[1], node.payer, sign(node, texts[1]))
    assert refusal(answer) == (409, "transaction_already_used")
    assert refusal(message_for(public, payments[1], node.payer)) == (409, "transaction_already_used")
    assert [looked(each).status for each in payments] == ["completed", "failed"]
    assert TransferProof.objects.filter(verified_at__isnull=False).count() == 1


def test_reference_of_another_order_is_never_proved(public: Api, request_for: Make, node: LocalChain) -> None:
    request, other = request_for(), request_for()
    theirs = looked(submit(request, transfer(node, request, tail=bytes(other.reference))))
    assert refusal(message_for(public, theirs, node.payer)) == (409, "transaction_already_used")
    unknown = looked(submit(request, transfer(node, request, tail=b"\xab" * 16)))
    assert refusal(message_for(public, unknown, node.payer)) == (409, "transaction_not_bound")
    suffix = looked(submit(request, transfer(node, request, tail=b"\xab" * 20)))
    assert message_for(public, suffix, node.payer).status_code == 200


def test_only_the_sender_itself_can_prove(public: Api, request_for: Make, node: LocalChain) -> None:
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    stranger = Account.create()
    assert refusal(message_for(public, payment, stranger.address)) == (409, "transaction_not_bound")
    text = message_for(public, payment, node.payer).json()["message"]
    forged = give(public, payment, node.payer, sign(node, text, stranger.key.hex()))
    assert refusal(forged) == (400, "signature_invalid")
    assert refusal(give(public, payment, stranger.address, sign(node, text))) == (400, "signature_invalid")
    assert looked(payment).sender_signed_at is None
    assert not TransferProof.objects.exclude(verified_at=None).exists()


def test_address_that_delivers_swaps_can_not_prove(public: Api, request_for: Make, node: LocalChain) -> None:
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    Solver.objects.create(address=node.payer)
    assert refusal(message_for(public, payment, node.payer)) == (409, "transaction_not_bound")


def test_expired_message_is_not_accepted(public: Api, request_for: Make, node: LocalChain) -> None:
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    text = message_for(public, payment, node.payer).json()["message"]
    TransferProof.objects.update(expires_at=timezone.now())
    assert refusal(give(public, payment, node.payer, sign(node, text))) == (400, "signature_invalid")
    assert looked(payment).status == "failed"


def test_same_signature_again_returns_the_first_proof(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    request = request_for()
    payment = looked(submit(request, transfer(node, request)))
    text = message_for(public, payment, node.payer).json()["message"]
    first, again = (give(public, payment, node.payer, sign(node, text)) for _ in range(2))
    assert (again.status_code, again.json()) == (200, first.json())
    assert looked(payment).status == "completed"
    assert give(public, payment, node.payer, sign(node, text)).json() == first.json()
    assert refusal(message_for(public, payment, node.payer)) == (409, "transaction_already_used")


def test_proof_names_exactly_one_subject(public: Api, request_for: Make) -> None:
    path = f"/api/public/payment-requests/{request_for().pk}/payer-proof"
    body = {"wallet_address": Account.create().address, "signature": "0x12"}
    assert refusal(public.post(path, body)) == (400, "parameter_missing")
    both = {**body, "route_id": "rt_1", "payment_id": "pay_1"}
    assert refusal(public.post(path, both)) == (400, "parameter_invalid")
    assert public.post(path, {**body, "payment_id": "pay_1"}).status_code == 404


def test_payment_of_another_request_is_not_found(public: Api, request_for: Make, node: LocalChain) -> None:
    request, other = request_for(), request_for()
    payment = submit(request, transfer(node, request))
    path = path_of(payment).replace(str(request.pk), str(other.pk))
    assert public.post(path, {"wallet_address": node.payer}).status_code == 404


def test_contract_must_have_confirmed_at_the_transfers_block(
    public: Api, request_for: Make, node: LocalChain
) -> None:
    """Otherwise, the new owner of a sold wallet, or new code, could sign for the earlier owner's transfer."""
    wallet, request = Account.create().address, request_for()
    deploy.mint(node.url, node.usdc, wallet, 10**9)
    node.rpc("anvil_setBalance", wallet, hex(10**19))
    node.rpc("anvil_impersonateAccount", wallet)
    recipient = request.recipient_address[2:].lower().rjust(64, "0")
    call = {
        "from": wallet,
        "to": request.token.contract_address,
        "data": f"0xa9059cbb{recipient}{10**7:064x}",
    }
    payment = looked(submit(request, node.rpc("eth_sendTransaction", call)))
    says_yes = "0x7f1626ba7e" + "00" * 28 + "5f5260205ff3"
    node.mine(1)
    node.rpc("anvil_setCode", wallet, says_yes)
    assert message_for(public, payment, wallet).status_code == 200
    assert refusal(give(public, payment, wallet, "0x1234")) == (400, "signature_invalid")
    assert looked(payment).status == "failed"


def test_proof_claims_no_more_than_is_needed(
    public: Api, request_for: Make, node: LocalChain, usdc: Token
) -> None:
    request = request_for()
    PaymentRequest.objects.filter(pk=request.pk).update(amount=4 * 10**6)
    payment = looked(submit(request, transfer(node, request)))
    prove(public, node, payment)
    request.refresh_from_db()
    payment = looked(payment)
    assert payment.amount_received == 10**7, "the last transfer is whole"
    assert TransferProof.objects.get().needed == 4 * 10**6
