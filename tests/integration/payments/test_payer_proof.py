"""Without a reference, the payer's signature binds a transfer: to one request, from one wallet, for one hour."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from eth_account import Account
from eth_account.messages import encode_defunct

from chains.models import Chain, Token
from config.api.errors import ApiError
from demo.contracts import deploy
from payments.models import PayerProof, Payment, PaymentRequest, Route
from payments.requests.lifecycle import cancel_request, is_held
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look, look_until_decided, submit

Make = Callable[..., PaymentRequest]


def build(public: Api, request: PaymentRequest, wallet: str, **options: Any) -> dict[str, Any]:
    body = {"wallet_address": wallet, "chain_id": request.chain_id, "token_id": request.token_id}
    body["allow_parallel"] = True
    route = public.post(f"/api/public/payment-requests/{request.id}/routes", body).json()["routes"][0]
    answer = public.post(
        "/api/public/build-transaction", {"route_id": route["id"], "allow_parallel": True, **options}
    )
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def sign(chain: LocalChain, message: str, key: str | None = None) -> str:
    signed = Account.sign_message(encode_defunct(text=message), key or chain.payer_key)
    return "0x" + signed.signature.hex().removeprefix("0x")


def prove(public: Api, request: PaymentRequest, built: dict[str, Any], wallet: str, signature: str) -> Any:
    return public.post(
        f"/api/public/payment-requests/{request.id}/payer-proof",
        {"route_id": built["route_id"], "wallet_address": wallet, "signature": signature},
    )


def test_a_request_without_references_is_paid_by_a_proved_wallet(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for(references=False)
    built = build(public, request, local_chain.payer)
    assert built["binding"] == "payer"
    assert len(built["transaction"]["data"]) == 2 + 2 * 68, "a plain transfer, without anything after it"
    message = built["payer_proof"]["message"]
    for part in (
        "testserver wants you",
        local_chain.payer,
        "10 USDC",
        request.recipient_address,
        str(request.id),
    ):
        assert part in message
    answer = prove(public, request, built, local_chain.payer, sign(local_chain, message))
    assert (answer.status_code, answer.json()["wallet_address"]) == (200, local_chain.payer)
    payment = submit(request, local_chain.send(built["transaction"]))
    look(Clock())
    payment.refresh_from_db()
    assert (payment.status, payment.bound_by) == (Payment.Status.COMPLETED, "payer")


def test_later_proof_reopens_the_payment_without_a_retry(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for()
    built = build(public, request, local_chain.payer, binding="payer")
    payment = submit(request, local_chain.send(built["transaction"]))
    look(Clock())
    payment.refresh_from_db()
    assert payment.failure_code == "transaction_not_bound"
    signature = sign(local_chain, built["payer_proof"]["message"])
    assert prove(public, request, built, local_chain.payer, signature).status_code == 200
    look(Clock())
    payment.refresh_from_db()
    assert (payment.status, payment.retries) == (Payment.Status.COMPLETED, 0)


@pytest.mark.parametrize("is_deep", [True, False], ids=["failed as unbound", "not deep enough"])
def test_proof_of_a_mined_transfer_holds_the_request(
    public: Api, request_for: Make, local_chain: LocalChain, chain: Chain, is_deep: bool
) -> None:
    """Between the proof and the next check, the merchant can't cancel the request and it doesn't expire."""
    chain.confirmations = "1" if is_deep else "3"
    chain.save()
    request = request_for()
    built = build(public, request, local_chain.payer, binding="payer")
    payment = submit(request, local_chain.send(built["transaction"]))
    look(Clock())
    assert not is_held(request, timezone.now())
    signature = sign(local_chain, built["payer_proof"]["message"])
    assert prove(public, request, built, local_chain.payer, signature).status_code == 200
    with pytest.raises(ApiError, match="in progress|being"):
        cancel_request(request.pk, actor="test")
    request.refresh_from_db()
    assert request.status == PaymentRequest.Status.ACTIVE
    local_chain.mine(3)
    assert look_until_decided(payment, Clock()).status == Payment.Status.COMPLETED


def test_proof_holds_a_transfer_with_another_fee_payer(
    public: Api, request_for: Make, local_chain: LocalChain, chain: Chain
) -> None:
    """On Solana, the sender of a transaction is its fee payer, and it has no nonce."""
    chain.confirmations = "3"
    chain.save()
    request, fee_payer = request_for(), Account.create()
    built = build(public, request, local_chain.payer, binding="payer")
    payment = submit(request, local_chain.send(built["transaction"]))
    look(Clock())
    Payment.objects.filter(pk=payment.pk).update(from_address=fee_payer.address, nonce=None)
    signature = sign(local_chain, built["payer_proof"]["message"])
    assert prove(public, request, built, local_chain.payer, signature).status_code == 200
    with pytest.raises(ApiError, match="in progress"):
        cancel_request(request.pk, actor="test")
    request.refresh_from_db()
    assert request.status == PaymentRequest.Status.ACTIVE


def test_proof_does_not_hold_a_request_for_what_others_sent(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request, wallet = request_for(), Account.create()
    built = build(public, request, local_chain.payer, binding="payer")
    submit(request, local_chain.send(built["transaction"]))
    look(Clock())
    row = request.payments.get()
    Payment.objects.filter(pk=row.pk).update(from_address=wallet.address)
    signature = sign(local_chain, built["payer_proof"]["message"])
    assert prove(public, request, built, local_chain.payer, signature).status_code == 200
    assert not is_held(request, timezone.now())


def test_signature_of_other_key_or_message_is_rejected(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request, other = request_for(), request_for()
    built = build(public, request, local_chain.payer, binding="payer")
    foreign = build(public, other, local_chain.payer, binding="payer")
    message = built["payer_proof"]["message"]
    stranger = Account.create()
    for signature in (
        sign(local_chain, message, stranger.key.hex()),
        sign(local_chain, foreign["payer_proof"]["message"]),
        "0x" + "00" * 65,
        "0x",
        "zz",
    ):
        answer = prove(public, request, built, local_chain.payer, signature)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "signature_invalid"), signature
    answer = prove(public, request, built, stranger.address, sign(local_chain, message, stranger.key.hex()))
    assert answer.json()["error"]["code"] == "signature_invalid"
    elsewhere = prove(public, other, built, local_chain.payer, sign(local_chain, message))
    assert elsewhere.status_code == 404, "a route of another request"
    assert not PayerProof.objects.exists()


def test_repeated_proof_returns_first_even_during_node_outage(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    wallet = Account.create().address  # a new one, because its code stays on this chain
    deploy.mint(local_chain.url, local_chain.usdc, wallet, 10**9)
    local_chain.rpc("anvil_setBalance", wallet, hex(10**19))
    says_yes = "0x7f1626ba7e" + "00" * 28 + "5f5260205ff3"
    local_chain.rpc("anvil_setCode", wallet, says_yes)
    request = request_for(references=False)
    built = build(public, request, wallet)
    first = prove(public, request, built, wallet, "0x1234")
    assert first.status_code == 200
    local_chain.rpc("anvil_setCode", wallet, "0x5f5ffd")  # it rejects every signature from now on
    assert prove(public, request, built, wallet, "0x12").status_code == 400, (
        "another signature is asked about"
    )
    Chain.objects.update(rpc_urls=[])
    again = prove(public, request, built, wallet, "0x1234")
    assert (again.status_code, again.json()) == (200, first.json())
    assert PayerProof.objects.count() == 1


def test_an_expired_route_takes_no_proof(public: Api, request_for: Make, local_chain: LocalChain) -> None:
    request = request_for()
    built = build(public, request, local_chain.payer, binding="payer")
    Route.objects.update(expires_at=request.created_at)
    signature = sign(local_chain, built["payer_proof"]["message"])
    answer = prove(public, request, built, local_chain.payer, signature)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "route_expired")
    assert not PayerProof.objects.exists()


def proved(public: Api, chain: LocalChain, request: PaymentRequest) -> dict[str, Any]:
    built = build(public, request, chain.payer, binding="payer")
    signature = sign(chain, built["payer_proof"]["message"])
    assert prove(public, request, built, chain.payer, signature).status_code == 200
    return built


def verdict(request: PaymentRequest, transaction_hash: str) -> Payment:
    payment = submit(request, transaction_hash)
    look(Clock())
    payment.refresh_from_db()
    return payment


def test_later_proof_of_same_wallet_replaces_the_earlier(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    first, second = request_for(), request_for()
    proved(public, local_chain, first)
    built = proved(public, local_chain, second)
    sent = local_chain.send(built["transaction"])
    assert verdict(first, sent).failure_code == "transaction_not_bound"
    assert verdict(second, sent).status == Payment.Status.COMPLETED


def test_proof_claims_no_transfer_with_another_reference(
    public: Api, request_for: Make, paying: Callable[..., str], local_chain: LocalChain
) -> None:
    referenced, claiming = request_for(), request_for()
    proved(public, local_chain, claiming)
    sent = paying(referenced)
    assert verdict(claiming, sent).failure_code == "transaction_not_bound"
    assert verdict(referenced, sent).status == Payment.Status.COMPLETED


@pytest.mark.parametrize("hours", [-1, 2])
def test_it_holds_from_the_routes_building_for_an_hour(
    public: Api, request_for: Make, local_chain: LocalChain, hours: int
) -> None:
    request = request_for()
    built = proved(public, local_chain, request)
    proof = PayerProof.objects.get()
    assert proof.not_after - proof.not_before == timedelta(hours=1)
    PayerProof.objects.update(
        not_before=proof.not_before - timedelta(hours=hours),
        not_after=proof.not_after - timedelta(hours=hours),
    )
    assert verdict(request, local_chain.send(built["transaction"])).failure_code == "transaction_not_bound"


def test_a_token_that_refuses_trailing_bytes_is_paid_plain(
    public: Api, request_for: Make, usdc: Token, local_chain: LocalChain
) -> None:
    Token.objects.filter(pk=usdc.pk).update(trailing_data=False)
    assert build(public, request_for(), local_chain.payer)["binding"] == "payer"


def test_asking_for_a_reference_where_none_fits_is_refused(
    public: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for(references=False)
    body = {"wallet_address": local_chain.payer, "chain_id": request.chain_id, "token_id": request.token_id}
    route = public.post(f"/api/public/payment-requests/{request.id}/routes", body).json()["routes"][0]
    answer = public.post("/api/public/build-transaction", {"route_id": route["id"], "binding": "reference"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "binding")
