"""On a real chain, a refund is built, sent, found and verified like a payment, and counts once."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_account import Account
from eth_utils.crypto import keccak

from chains.models import Chain, Token
from demo.contracts import deploy
from merchants.models import Merchant
from payments.models import ConsumedTransfer, DiscoveryCursor, Payment, PaymentRequest, Refund
from payments.requests.lifecycle import UNSEEN_HOLD
from payments.verification.finality import CHECKS_BEFORE_ALERT
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.payments.refunds.conftest import CUSTOMER
from tests.support.payments.rows import new_payment
from tests.support.payments.world import Clock, look, look_until_decided, make_request, pay, submit
from tests.verifying import check_finality, discover_due
from webhooks.models import Event

Make = Callable[..., PaymentRequest]
Refunding = Callable[..., dict[str, Any]]


@pytest.fixture
def from_here(chain: Chain, local_chain: LocalChain) -> None:
    """Discovery starts at the next block, so that it doesn't find transactions of other tests."""
    height = int(local_chain.rpc("eth_blockNumber"), 16)
    DiscoveryCursor.objects.create(chain=chain, next_block=height + 1)


def built(api: Api, refund: dict[str, Any], wallet: str) -> dict[str, Any]:
    answer = api.post(f"/api/refunds/{refund['id']}/build", {"wallet_address": wallet})
    assert answer.status_code == 200, answer.content
    transaction: dict[str, Any] = answer.json()["transaction"]
    return transaction


def sent(api: Api, chain: LocalChain, refund: dict[str, Any]) -> str:
    """Build the refund's transaction for the payer's wallet, which is the merchant's in these tests, and send it."""
    return chain.send(built(api, refund, chain.payer))


def carrier_of(refund: dict[str, Any]) -> PaymentRequest:
    return PaymentRequest.objects.get(refund__id=refund["id"])


def submit_freely(request: PaymentRequest, hash_: str) -> Payment:
    """Store a consumed hash as if it had been submitted before it was consumed."""
    return new_payment(request=request, chain=request.chain, transaction_hash=hash_)


def now(api: Api, refund: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = api.get(f"/api/refunds/{refund['id']}").json()
    return shown


def events(type_: str) -> list[dict[str, Any]]:
    return [json.loads(bytes(event.body)) for event in Event.objects.filter(type=type_)]


def test_a_refund_is_built_sent_and_verified(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, refund: Refunding
) -> None:
    made = refund(amount="2.5")
    before = local_chain.token_balance(local_chain.usdc, CUSTOMER)
    hash_ = sent(api, local_chain, made)
    submitted = api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": hash_})
    assert (submitted.status_code, submitted.json()["status"]) == (200, "processing")
    look_until_decided(carrier_of(made).payments.get(), Clock())

    shown = now(api, made)
    assert (shown["status"], shown["transaction_hash"]) == ("completed", hash_)
    assert shown["completed_at"] is not None
    assert shown["confirmations"] >= 1
    assert local_chain.token_balance(local_chain.usdc, CUSTOMER) - before == 2_500_000
    request = api.get(f"/api/payment-requests/{paid.id}").json()
    assert (request["status"], request["amount_refunded"]["raw"]) == ("completed", "2500000")
    assert [each["id"] for each in request["payments"]] == [paid.payments.get().id]
    assert api.get("/api/payment-requests").json()["data"][0]["amount_refunded"]["raw"] == "2500000"


def test_its_event_is_the_refund_with_the_fields_of_every_event(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, refund: Refunding
) -> None:
    made = refund(amount="2.5", reason="torn")
    hash_ = sent(api, local_chain, made)
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": hash_})
    look_until_decided(carrier_of(made).payments.get(), Clock())
    [event] = events("refund.completed")
    said = event["data"]["object"]
    assert (said["id"], said["object"], said["status"]) == (made["id"], "refund", "completed")
    assert (said["amount"], said["currency"], said["reference"]) == (2_500_000, "USDC", "order-7")
    assert (said["payment_request"], said["transaction_hash"]) == (str(paid.id), hash_)
    assert (said["recipient_address"], said["address_source"]) == (CUSTOMER, "merchant")
    assert (said["reason"], said["metadata"]) == ("torn", {"cart": "9"})
    assert said["amount_details"]["raw"] == "2500000"
    assert len(events("payment.succeeded")) == 1, "a refund is no payment"
    assert not events("payment.overpaid")


@pytest.mark.usefixtures("from_here")
def test_a_refund_is_found_without_its_hash(api: Api, local_chain: LocalChain, refund: Refunding) -> None:
    made = refund(amount="1")
    sent(api, local_chain, made)
    discover_due()
    look_until_decided(carrier_of(made).payments.get(), Clock())
    assert now(api, made)["status"] == "completed"


def test_a_transfer_without_the_reference_is_no_refund(
    api: Api, local_chain: LocalChain, refund: Refunding
) -> None:
    made = refund(amount="1")
    plain = local_chain.transfer(local_chain.usdc, CUSTOMER, 1_000_000)
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": plain})
    look_until_decided(carrier_of(made).payments.get(), Clock())
    shown = now(api, made)
    assert (shown["status"], shown["failure_code"]) == ("failed", "transaction_not_bound")
    assert shown["failure_message"]
    assert not ConsumedTransfer.objects.filter(payment__request__is_refund=True).exists()
    [event] = events("refund.failed")
    assert event["data"]["object"]["failure_code"] == "transaction_not_bound"
    assert event["data"]["object"]["status"] == "failed"
    sent_now = sent(api, local_chain, made)
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": sent_now})
    look_until_decided(Payment.objects.get(transaction_hash=sent_now), Clock())
    assert now(api, made)["status"] == "completed"


def test_failed_refund_is_not_built_after_its_amount_is_taken(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, refund: Refunding
) -> None:
    made = refund()
    plain = local_chain.transfer(local_chain.usdc, CUSTOMER, 10_000_000)
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": plain})
    look_until_decided(carrier_of(made).payments.get(), Clock())
    refund(amount="6")
    answer = api.post(f"/api/refunds/{made['id']}/build", {"wallet_address": local_chain.payer})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "refund_too_large")


def test_failed_refund_page_offers_no_amount_of_another_refund(
    api: Api, public: Api, local_chain: LocalChain, usdc: Token, refund: Refunding
) -> None:
    """The page shows the failed refund's transaction.

    If it were sent too, more than the payment would be refunded.
    """
    made = refund()
    carrier = carrier_of(made)
    plain = local_chain.transfer(local_chain.usdc, CUSTOMER, 10_000_000)
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": plain})
    look_until_decided(carrier.payments.get(), Clock())
    path = f"/api/public/payment-requests/{carrier.id}/routes"
    body = {"wallet_address": local_chain.payer, "chain_id": usdc.chain_id, "token_id": usdc.id}
    [route] = public.post(path, body).json()["routes"]
    refund(amount="6")
    for answer in (
        public.post(path, body),
        public.post("/api/public/build-transaction", {"route_id": route["id"]}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "refund_too_large")
    assert public.get(f"/api/public/payment-requests/{carrier.id}").json()["is_available"] is False


def test_refund_transfer_pays_no_request_for_the_same_wallet(
    api: Api, merchant: Merchant, usdc: Token, local_chain: LocalChain, refund: Refunding
) -> None:
    made = refund(amount="1")
    theirs = make_request(merchant, usdc, "1", CUSTOMER)
    hash_ = sent(api, local_chain, made)
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": hash_})
    look_until_decided(carrier_of(made).payments.get(), Clock())
    payment = look_until_decided(submit_freely(theirs, hash_), Clock())
    assert payment.status == Payment.Status.FAILED
    theirs.refresh_from_db()
    assert (theirs.status, theirs.amount_paid) == ("active", 0)


def test_one_transfer_completes_one_refund(api: Api, local_chain: LocalChain, refund: Refunding) -> None:
    first, second = refund(amount="1"), refund(amount="1")
    hash_ = sent(api, local_chain, first)
    api.post(f"/api/refunds/{first['id']}/submit", {"transaction_hash": hash_})
    look_until_decided(carrier_of(first).payments.get(), Clock())
    answer = api.post(f"/api/refunds/{second['id']}/submit", {"transaction_hash": hash_})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "transaction_already_used")
    payment = look_until_decided(submit_freely(carrier_of(second), hash_), Clock())
    assert payment.status == "failed"
    assert (now(api, first)["status"], now(api, second)["status"]) == ("completed", "ready")
    assert ConsumedTransfer.objects.filter(payment__request__is_refund=True).count() == 1


@pytest.mark.usefixtures("from_here")
def test_a_cancelled_refund_that_is_on_the_chain_is_completed(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, refund: Refunding
) -> None:
    made = refund(amount="1")
    transaction = built(api, made, local_chain.payer)
    assert api.post(f"/api/refunds/{made['id']}/cancel").json()["status"] == "cancelled"
    local_chain.send(transaction)
    discover_due()
    look_until_decided(carrier_of(made).payments.get(), Clock())
    assert now(api, made)["status"] == "completed"
    assert api.get(f"/api/payment-requests/{paid.id}").json()["amount_refunded"]["raw"] == "1000000"
    assert len(events("refund.completed")) == 1


def test_processing_refund_is_neither_cancelled_nor_rebuilt(
    api: Api, local_chain: LocalChain, chain: Chain, refund: Refunding
) -> None:
    Chain.objects.filter(pk=chain.pk).update(confirmations="20")
    made = refund(amount="1")
    hash_ = sent(api, local_chain, made)
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": hash_})
    look(Clock())
    assert now(api, made)["status"] == "processing"
    cancelled = api.post(f"/api/refunds/{made['id']}/cancel")
    again = api.post(f"/api/refunds/{made['id']}/build", {"wallet_address": local_chain.payer})
    assert (cancelled.status_code, cancelled.json()["error"]["code"]) == (409, "refund_not_cancellable")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "payment_in_progress")
    assert Refund.objects.get().cancelled_at is None


def test_unknown_hash_delays_cancellation_for_two_minutes(api: Api, refund: Refunding) -> None:
    made = refund(amount="1")
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": "0x" + "ab" * 32})
    assert api.post(f"/api/refunds/{made['id']}/cancel").status_code == 409
    Payment.objects.filter(request__is_refund=True).update(
        created_at=Payment.objects.get(request__is_refund=True).created_at - UNSEEN_HOLD
    )
    assert api.post(f"/api/refunds/{made['id']}/cancel").json()["status"] == "cancelled"


def test_a_completed_refund_is_neither_cancelled_nor_built(
    api: Api, local_chain: LocalChain, refund: Refunding
) -> None:
    made = refund(amount="1")
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": sent(api, local_chain, made)})
    look_until_decided(carrier_of(made).payments.get(), Clock())
    cancelled = api.post(f"/api/refunds/{made['id']}/cancel")
    again = api.post(f"/api/refunds/{made['id']}/build", {"wallet_address": local_chain.payer})
    assert (cancelled.status_code, cancelled.json()["error"]["code"]) == (409, "refund_not_cancellable")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "refund_not_ready")


def test_reorged_refund_fails_and_completes_when_mined_again(
    api: Api, local_chain: LocalChain, paid: PaymentRequest, refund: Refunding
) -> None:
    made = refund(amount="1")
    hash_ = sent(api, local_chain, made)
    raw = local_chain.rpc("eth_getRawTransactionByHash", hash_)
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": hash_})
    payment = look_until_decided(carrier_of(made).payments.get(), Clock())
    local_chain.reorganise()
    local_chain.rpc("anvil_dropTransaction", hash_)
    clock = Clock()
    for _ in range(CHECKS_BEFORE_ALERT):
        local_chain.mine(70)
        clock.forward(minutes=3)
        check_finality(now=clock)
    shown = now(api, made)
    assert (shown["status"], shown["failure_code"]) == ("failed", "transaction_not_found")
    assert (shown["completed_at"], shown["confirmations"]) == (None, 0)
    assert api.get(f"/api/payment-requests/{paid.id}").json()["amount_refunded"]["raw"] == "0"
    assert not ConsumedTransfer.objects.filter(payment=payment).exists()
    assert len(events("refund.failed")) == 1
    carrier = carrier_of(made)
    assert (carrier.status, carrier.amount_paid) == ("active", 0)

    local_chain.send_raw(raw)
    again = api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": hash_})
    assert again.json()["status"] == "processing"
    look_until_decided(payment, Clock())
    assert now(api, made)["status"] == "completed"
    assert len(events("refund.completed")) == 2, "once for each time that it was completed"
    assert ConsumedTransfer.objects.filter(payment=payment).count() == 1


def test_the_signing_wallet_needs_the_money(api: Api, local_chain: LocalChain, refund: Refunding) -> None:
    made, wallet = refund(amount="1"), str(Account.create().address)
    local_chain.rpc("anvil_setBalance", wallet, hex(10**18))
    answer = api.post(f"/api/refunds/{made['id']}/build", {"wallet_address": wallet})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "insufficient_funds")


def test_only_the_requested_token_goes_back(
    public: Api, local_chain: LocalChain, dai: Token, refund: Refunding
) -> None:
    refund(amount="1")
    carrier = PaymentRequest.objects.get(is_refund=True)
    answer = public.post(
        f"/api/public/payment-requests/{carrier.id}/routes",
        {"wallet_address": local_chain.payer, "chain_id": dai.chain_id, "token_id": dai.id},
    )
    assert answer.status_code == 200
    assert answer.json()["routes"] == []
    assert "only" in answer.json()["reason"]["message"]


def test_its_page_is_open_to_sign(public: Api, refund: Refunding) -> None:
    made = refund(amount="1")
    page = public.get(made["refund_url"].removeprefix("http://testserver"))
    assert page.status_code == 200
    shortcode = PaymentRequest.objects.get(pk=made["payment_request"]).shortcode
    assert f"Refund of {shortcode}" in page.content.decode()
    assert "order-7" not in page.content.decode()


@pytest.mark.usefixtures("usdc")
def test_recipient_contract_can_not_fail_a_received_refund(
    api: Api, local_chain: LocalChain, merchant: Merchant, ether: Token
) -> None:
    """When it receives the refund, the contract sends its own token. This must not look like a failed refund."""
    paid = make_request(merchant, ether, "0.01", local_chain.recipient)
    look_until_decided(submit(paid, pay(local_chain, paid)), Clock())
    customers = deploy.deploy_contract(local_chain.url, "Accomplice", key=local_chain.payer_key)
    deploy.mint(local_chain.url, local_chain.usdc, customers, 1)
    move = keccak(text="transfer(address,uint256)")[:4] + encode(["address", "uint256"], [CUSTOMER, 1])
    load = encode(["address", "bytes"], [local_chain.usdc, move])
    deploy.send(
        local_chain.url,
        local_chain.payer_key,
        to=customers,
        data=keccak(text="load(address,bytes)")[:4] + load,
    )
    made = api.post(f"/api/payment-requests/{paid.id}/refunds", {"recipient_address": customers}).json()
    hash_ = sent(api, local_chain, made)
    assert local_chain.token_balance(local_chain.usdc, customers) == 0
    api.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": hash_})
    look_until_decided(carrier_of(made).payments.get(), Clock())
    shown = now(api, made)
    assert (shown["status"], shown["failure_code"]) == ("completed", None)


def test_refund_of_inactive_token_is_found_and_verified(
    api: Api, local_chain: LocalChain, refund: Refunding, from_here: None
) -> None:
    made = refund(amount="1")
    Token.objects.update(is_active=False)
    Chain.objects.update(is_active=False)
    hash_ = sent(api, local_chain, made)
    assert discover_due() == 1
    payment = carrier_of(made).payments.get()
    assert payment.transaction_hash == hash_
    look_until_decided(payment, Clock())
    assert now(api, made)["status"] == "completed"


def test_transfer_to_the_old_address_is_found_and_counts(
    api: Api, local_chain: LocalChain, refund: Refunding, paid: PaymentRequest, from_here: None
) -> None:
    """The merchant opened the page's wallet link before the address was changed."""
    made = refund()
    old = carrier_of(made)
    assert Api().get(f"/pay/{old.shortcode}").status_code == 200
    PaymentRequest.objects.filter(pk=old.pk).update(link_shown_at=old.created_at)
    changed = api.post(f"/api/refunds/{made['id']}/address", {"recipient_address": local_chain.payer})
    assert changed.status_code == 200, changed.content
    hash_ = pay(local_chain, old)
    assert discover_due() == 1
    payment = old.payments.get()
    assert payment.transaction_hash == hash_
    look_until_decided(payment, Clock())
    kept = Refund.objects.get(carrier=old)
    assert now(api, {"id": kept.pk})["status"] == "completed"
    [told] = events("refund.completed")
    assert told["data"]["object"]["id"] == kept.pk
    refused = api.post(f"/api/refunds/{made['id']}/build", {"wallet_address": local_chain.payer})
    assert refused.json()["error"]["code"] == "refund_too_large"
    shown = api.get(f"/api/payment-requests/{paid.pk}").json()
    assert shown["amount_refunded"] == shown["amount"]
