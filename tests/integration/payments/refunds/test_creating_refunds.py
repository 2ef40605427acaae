"""Refunds are created, read and cancelled by the API."""

import re
from collections.abc import Callable
from datetime import timedelta
from threading import Thread
from typing import Any

import pytest
from django.db import connection
from eth_account import Account

from merchants.models import Merchant
from merchants.services import issue_key
from payments.models import PaymentRequest, Refund
from payments.requests.lifecycle import expire_due
from tests.chain import LocalChain
from tests.conftest import Api
from tests.integration.payments.refunds.conftest import CUSTOMER
from tests.support.payments.world import Clock, look_until_decided, pay, submit

Make = Callable[..., PaymentRequest]
Refunding = Callable[..., dict[str, Any]]


def funded_wallet(chain: LocalChain) -> tuple[str, str]:
    """Return the private key and address of a new wallet with some ether."""
    account = Account.create()
    chain.rpc("anvil_setBalance", account.address, hex(10**18))
    return account.key.hex(), account.address


def path(request: PaymentRequest) -> str:
    return f"/api/payment-requests/{request.id}/refunds"


def refused(answer: Any, status: int, code: str, param: str | None = None) -> str:
    """Check the rejection, and that no refund was stored; return the message."""
    assert answer.status_code == status, answer.content
    error = answer.json()["error"]
    assert (error["code"], error.get("param")) == (code, param)
    assert not Refund.objects.exists()
    assert not PaymentRequest.objects.filter(is_refund=True).exists()
    return str(error["message"])


def test_a_refund_has_all_its_fields(api: Api, paid: PaymentRequest) -> None:
    payment = paid.payments.get()
    answer = api.post(
        path(paid),
        {"amount": "2.50", "recipient_address": CUSTOMER.lower(), "payment_id": payment.id, "reason": "torn"},
    )
    assert (answer.status_code, answer["Cache-Control"]) == (201, "no-store")
    refund = answer.json()
    assert re.fullmatch(r"rf_[1-9A-HJ-NP-Za-km-z]{24}", refund["id"])
    assert refund["object"] == "refund"
    assert (refund["payment_request"], refund["payment_id"]) == (str(paid.id), payment.id)
    assert (refund["status"], refund["reason"]) == ("ready", "torn")
    assert refund["amount"] == {"raw": "2500000", "formatted": "2.500000", "decimals": 6}
    assert (refund["chain_id"], refund["token"]["symbol"]) == (paid.chain_id, "USDC")
    assert (refund["recipient_address"], refund["address_source"]) == (CUSTOMER, "merchant")
    assert re.fullmatch(r"http://testserver/pay/\w{12}", refund["refund_url"])
    assert re.fullmatch(r"http://testserver/refunds/\w{12}", refund["claim_url"])
    names = ("transaction_hash", "explorer_url", "failure_code", "failure_message", "completed_at")
    assert [refund[name] for name in names] == [None] * 5
    assert (refund["confirmations"], refund["created_at"][-1]) == (0, "Z")
    assert api.get(f"/api/refunds/{refund['id']}").json() == refund


def test_everything_that_was_paid_goes_back_if_no_amount_is_said(refund: Refunding) -> None:
    assert refund(amount="4")["amount"]["raw"] == "4000000"
    assert refund()["amount"]["raw"] == "6000000"


def test_no_more_goes_back_than_was_paid(api: Api, paid: PaymentRequest) -> None:
    message = refused(
        api.post(path(paid), {"amount": "10.000001", "recipient_address": CUSTOMER}),
        409,
        "refund_too_large",
        "amount",
    )
    assert message == "At most 10 USDC can be refunded now."


def test_open_refunds_are_reserved_and_cancelled_ones_are_not(
    api: Api, paid: PaymentRequest, refund: Refunding
) -> None:
    first = refund(amount="9")
    again = api.post(path(paid), {"amount": "2", "recipient_address": CUSTOMER})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "refund_too_large")
    cancelled = api.post(f"/api/refunds/{first['id']}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert api.post(f"/api/refunds/{first['id']}/cancel").json() == cancelled.json()
    assert refund()["amount"]["raw"] == "10000000"
    empty = api.post(path(paid), {"recipient_address": CUSTOMER})
    assert empty.json()["error"]["message"] == "Nothing is left to be refunded."


def test_unpaid_request_has_nothing_to_refund(api: Api, request_for: Make) -> None:
    request = request_for()
    assert api.post(f"/api/payment-requests/{request.id}/cancel").status_code == 200
    refused(api.post(path(request), {"recipient_address": CUSTOMER}), 409, "refund_too_large", "amount")


def test_active_request_is_refunded_only_after_cancelling(
    api: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for("10")
    look_until_decided(submit(request, pay(local_chain, request, 9_000_000)), Clock())
    body = {"recipient_address": CUSTOMER}
    message = refused(api.post(path(request), body), 409, "payment_request_active")
    assert message == "This payment request is active. Cancel it, then refund what was paid."
    assert api.post(f"/api/payment-requests/{request.id}/cancel").status_code == 200
    assert api.post(path(request), body).json()["amount"]["raw"] == "9000000"


def test_a_part_that_was_paid_before_expiry_goes_back(
    api: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for("10", lifetime=timedelta(minutes=5))
    look_until_decided(submit(request, pay(local_chain, request, 3_000_000)), Clock())
    clock = Clock()
    clock.forward(hours=1)
    assert expire_due(clock()) == 1
    answer = api.post(path(request), {"recipient_address": CUSTOMER})
    assert (answer.status_code, answer.json()["amount"]["raw"]) == (201, "3000000")


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"amount": "0"}, "amount_not_positive", "amount"),
        ({"amount": "1.0000001"}, "amount_too_precise", "amount"),
        ({"amount": 1}, "amount_not_a_string", "amount"),
        ({"amount": "-1"}, "amount_invalid", "amount"),
        ({"recipient_address": "0x" + "0" * 40}, "address_invalid", "recipient_address"),
        ({"recipient_address": "nobody"}, "address_invalid", "recipient_address"),
        ({"recipient_address": CUSTOMER.replace("bD", "Bd")}, "address_invalid", "recipient_address"),
        ({"payment_id": "pay_" + "1" * 24}, "parameter_invalid", "payment_id"),
        ({"reason": "x" * 501}, "parameter_invalid", "reason"),
        ({"recipient": CUSTOMER}, "parameter_unknown", "recipient"),
    ],
)
def test_bad_input_stores_nothing(
    api: Api, paid: PaymentRequest, body: dict[str, Any], code: str, param: str
) -> None:
    refused(api.post(path(paid), {"recipient_address": CUSTOMER, **body}), 400, code, param)


def test_the_tokens_own_contract_gets_nothing(
    api: Api, paid: PaymentRequest, local_chain: LocalChain
) -> None:
    refused(
        api.post(path(paid), {"recipient_address": local_chain.usdc}),
        400,
        "address_invalid",
        "recipient_address",
    )


def test_without_an_address_it_waits_for_the_customers(api: Api, paid: PaymentRequest) -> None:
    refund = api.post(path(paid), {}).json()
    assert (refund["status"], refund["recipient_address"], refund["address_source"]) == (
        "requires_address",
        None,
        None,
    )
    assert refund["refund_url"] is None
    for call, body in (
        ("build", {"wallet_address": paid.recipient_address}),
        ("submit", {"transaction_hash": "0x" + "ab" * 32}),
    ):
        answer = api.post(f"/api/refunds/{refund['id']}/{call}", body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "refund_not_ready")
    assert not PaymentRequest.objects.filter(is_refund=True).exists()


def test_with_several_payers_the_payment_has_to_be_said(
    api: Api, request_for: Make, local_chain: LocalChain
) -> None:
    request = request_for()
    look_until_decided(submit(request, pay(local_chain, request, 4_000_000)), Clock())
    tail = bytes(request.reference)
    key, address = funded_wallet(local_chain)
    local_chain.transfer(local_chain.usdc, address, 6_000_000)
    other = local_chain.transfer(local_chain.usdc, local_chain.recipient, 6_000_000, tail=tail, key=key)
    second = look_until_decided(submit(request, other), Clock())
    refused(api.post(path(request), {}), 400, "parameter_missing", "payment_id")
    refused(
        api.post(path(request), {"payment_id": second.id, "amount": "6.5"}), 409, "refund_too_large", "amount"
    )
    created = api.post(path(request), {"payment_id": second.id}).json()
    assert (created["amount"]["raw"], created["payment_id"]) == ("6000000", second.id)


def test_another_merchants_refunds_do_not_exist(
    paid: PaymentRequest, refund: Refunding, other_merchant: Merchant
) -> None:
    made = refund()
    stranger = Api(issue_key(merchant=other_merchant, permissions=["create_refunds"])[1])
    calls = [
        stranger.get(f"/api/refunds/{made['id']}"),
        stranger.get(path(paid)),
        stranger.post(path(paid), {}),
        stranger.post(f"/api/refunds/{made['id']}/cancel"),
        stranger.post(f"/api/refunds/{made['id']}/submit", {"transaction_hash": "0x" + "ab" * 32}),
        stranger.post(f"/api/refunds/{made['id']}/build", {"wallet_address": CUSTOMER}),
    ]
    assert [(each.status_code, each.json()["error"]["code"]) for each in calls] == [
        (404, "resource_missing")
    ] * 6
    assert stranger.get("/api/refunds").json()["data"] == []
    assert Refund.objects.get().cancelled_at is None


def test_request_shows_its_refunds_and_lists_are_paginated(
    api: Api, paid: PaymentRequest, refund: Refunding
) -> None:
    made = [refund(amount="1") for _ in range(3)]
    shown = api.get(f"/api/payment-requests/{paid.id}").json()
    newest_first = [each["id"] for each in reversed(made)]
    assert [each["id"] for each in shown["refunds"]] == newest_first
    assert shown["amount_refunded"] == {"raw": "0", "formatted": "0.000000", "decimals": 6}
    first = api.get("/api/refunds?limit=2").json()
    assert ([each["id"] for each in first["data"]], first["has_more"]) == (newest_first[:2], True)
    rest = api.get(f"{path(paid)}?limit=2&starting_after={newest_first[1]}").json()
    assert ([each["id"] for each in rest["data"]], rest["has_more"]) == (newest_first[2:], False)


def test_refund_carrier_is_hidden_from_payment_request_api(
    api: Api, paid: PaymentRequest, refund: Refunding
) -> None:
    refund()
    carrier = PaymentRequest.objects.get(is_refund=True)
    assert [each["id"] for each in api.get("/api/payment-requests").json()["data"]] == [str(paid.id)]
    assert api.get(f"/api/payment-requests/{carrier.id}").status_code == 404
    assert api.post(f"/api/payment-requests/{carrier.id}/cancel").status_code == 404
    assert api.post(f"/api/payment-requests/{carrier.id}/refunds", {}).status_code == 404
    carrier.refresh_from_db()
    assert carrier.status == "active"


def test_a_key_makes_one_refund_of_two_calls(api: Api, paid: PaymentRequest) -> None:
    body = {"amount": "1", "recipient_address": CUSTOMER}
    first = api.post(path(paid), body, **{"Idempotency-Key": "refund-1"})
    again = api.post(path(paid), body, **{"Idempotency-Key": "refund-1"})
    assert first.json() == again.json()
    assert again["Idempotent-Replayed"] == "true"
    assert Refund.objects.count() == 1


def test_a_key_without_the_permission_only_reads(
    merchant: Merchant, paid: PaymentRequest, refund: Refunding
) -> None:
    made = refund()
    reader = Api(issue_key(merchant=merchant, permissions=[])[1])
    assert reader.get(f"/api/refunds/{made['id']}").status_code == 200
    for call in (path(paid), f"/api/refunds/{made['id']}/cancel"):
        assert reader.post(call, {}).json()["error"]["code"] == "permission_denied"
    assert Refund.objects.get().cancelled_at is None


@pytest.mark.django_db(transaction=True)
def test_two_hundred_threads_refund_no_more_than_was_paid(
    api_key: tuple[Any, str], paid: PaymentRequest
) -> None:
    statuses: list[int] = []

    def create() -> None:
        try:
            body = {"amount": "3", "recipient_address": CUSTOMER}
            statuses.append(Api(api_key[1]).post(path(paid), body).status_code)
        finally:
            connection.close()

    for _ in range(10):  # twenty at a time: the database allows a hundred connections
        threads = [Thread(target=create) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(statuses) == [201] * 3 + [409] * 197
    assert sum(refund.amount for refund in Refund.objects.all()) == 9_000_000
