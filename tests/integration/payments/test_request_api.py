"""Payment requests are created, read and cancelled by the API."""

import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from chains.models import Chain, Token
from merchants.models import Merchant
from merchants.services import issue_key
from payments.models import PaymentRequest
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.payments.world import Clock, look_until_decided, pay, submit

PATH = "/api/payment-requests"
Order = Callable[..., dict[str, Any]]


def problem(response: Any, status: int) -> dict[str, Any]:
    """Check the status and that nothing was stored; return the error."""
    assert response.status_code == status, response.content
    assert not PaymentRequest.objects.exists()
    error: dict[str, Any] = response.json()["error"]
    return error


def test_creating_one_answers_with_all_its_fields(
    api: Api, order: Order, usdc: Token, local_chain: LocalChain
) -> None:
    response = api.post(
        PATH,
        order(
            external_id="order-1",
            redirect_url="https://shop.example/thanks?cart=9",
            cancel_url="https://shop.example/cart",
            description="Two loaves",
            metadata={"table": "4"},
            expires_in=600,
        ),
    )
    assert response.status_code == 201
    assert response["Cache-Control"] == "no-store"
    body = response.json()
    assert uuid.UUID(body["id"]).version == 7
    assert re.fullmatch(r"[2-9A-HJ-NP-Za-km-z]{12}", body["shortcode"])
    assert body["payment_url"] == f"http://testserver/pay/{body['shortcode']}"
    assert body["amount"] == {"raw": "10500000", "formatted": "10.500000", "decimals": 6}
    assert body["amount_remaining"] == body["amount"]
    assert (
        body["amount_paid"] == body["amount_overpaid"] == {"raw": "0", "formatted": "0.000000", "decimals": 6}
    )
    assert body["token"]["contract_address"] == local_chain.usdc
    assert (body["object"], body["status"], body["chain_id"]) == ("payment_request", "active", usdc.chain_id)
    assert (body["external_id"], body["description"]) == ("order-1", "Two loaves")
    assert (body["redirect_url"], body["cancel_url"]) == (
        "https://shop.example/thanks?cart=9",
        "https://shop.example/cart",
    )
    assert body["metadata"] == {"table": "4"}
    assert body["expires_at"].endswith("Z")
    lifetime = datetime.fromisoformat(body["expires_at"]) - datetime.fromisoformat(body["created_at"])
    assert lifetime.total_seconds() == 600
    nothing_yet = ("completed_at", "cancelled_at", "expired_at")
    assert [body[name] for name in nothing_yet] == [None, None, None]
    assert body["paid_late"] is False


def test_it_can_be_read_back_with_its_payments(api: Api, order: Order, local_chain: LocalChain) -> None:
    created = api.post(PATH, order()).json()
    request = PaymentRequest.objects.get(pk=created["id"])
    look_until_decided(submit(request, pay(local_chain, request)), Clock())
    body = api.get(f"{PATH}/{created['id']}").json()
    assert body["status"] == "completed"
    (payment,) = body["payments"]
    assert payment["object"] == "payment"
    assert payment["payment_request"] == created["id"]
    assert payment["amount_received"]["raw"] == payment["amount"]["raw"] == "10500000"
    assert payment["from_address"] == local_chain.payer
    assert payment["bound_by"] == "reference"
    assert (payment["retries_left"], payment["failure_code"], payment["reorged"]) == (3, None, False)
    assert datetime.fromisoformat(payment["completed_at"]).tzinfo == UTC


def test_another_merchants_request_is_as_if_it_did_not_exist(
    api: Api, order: Order, other_merchant: Merchant
) -> None:
    created = api.post(PATH, order()).json()
    stranger = Api(issue_key(merchant=other_merchant, permissions=["create_payments"])[1])
    for path in (f"{PATH}/{created['id']}", f"{PATH}/{uuid.uuid4()}", f"{PATH}/nonsense"):
        answers = [stranger.get(path)]
        if path != PATH:
            answers.append(stranger.post(f"{path}/cancel"))
        for answer in answers:
            assert answer.status_code == 404
            assert answer.json()["error"]["code"] == "resource_missing"
    assert PaymentRequest.objects.get().status == "active"


def test_cancelling_by_the_api(api: Api, order: Order) -> None:
    created = api.post(PATH, order()).json()
    first = api.post(f"{PATH}/{created['id']}/cancel")
    again = api.call("POST", f"{PATH}/{created['id']}/cancel")
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["status"] == again.json()["status"] == "cancelled"
    assert first.json()["cancelled_at"] == again.json()["cancelled_at"] is not None


def test_reading_needs_any_key_and_creating_the_permission(
    api: Api, public: Api, order: Order, merchant: Merchant
) -> None:
    reader = Api(issue_key(merchant=merchant, permissions=[])[1])
    refused = reader.post(PATH, order())
    assert problem(refused, 403)["code"] == "permission_denied"
    assert "create_payments" in refused.json()["error"]["message"]
    assert problem(public.post(PATH, order()), 401)["code"] == "api_key_missing"
    created = api.post(PATH, order()).json()
    assert reader.get(f"{PATH}/{created['id']}").status_code == 200
    assert reader.post(f"{PATH}/{created['id']}/cancel").status_code == 403
    assert public.get(f"{PATH}/{created['id']}").status_code == 401


@pytest.mark.parametrize(
    ("different", "param", "code"),
    [
        ({"amount": 10}, "amount", "amount_not_a_string"),
        ({"amount": 10.5}, "amount", "amount_not_a_string"),
        ({"amount": "1e3"}, "amount", "amount_invalid"),
        ({"amount": "-1"}, "amount", "amount_invalid"),
        ({"amount": "１２"}, "amount", "amount_invalid"),
        ({"amount": "1\n"}, "amount", "amount_invalid"),
        ({"amount": "0.0000001"}, "amount", "amount_too_precise"),
        ({"amount": "0.000"}, "amount", "amount_not_positive"),
        ({"amount": str(2**256)}, "amount", "amount_too_large"),
        ({"amount": None}, "amount", "parameter_missing"),
        ({"chain_id": 5}, "chain_id", "chain_unknown"),
        ({"chain_id": 2**80}, "chain_id", "chain_unknown"),
        ({"chain_id": "31337"}, "chain_id", "parameter_invalid"),
        ({"token_id": 2**70}, "token_id", "token_unknown"),
        ({"token_id": -1}, "token_id", "token_unknown"),
        ({"token_id": True}, "token_id", "parameter_invalid"),
        ({"recipient_address": "0x123"}, "recipient_address", "address_invalid"),
        ({"recipient_address": "0x" + "0" * 40}, "recipient_address", "address_invalid"),
        ({"recipient_address": 5}, "recipient_address", "parameter_invalid"),
        ({"redirect_url": "javascript:alert(1)"}, "redirect_url", "url_invalid"),
        ({"redirect_url": "https://user:pw@shop.example/"}, "redirect_url", "url_invalid"),
        ({"cancel_url": "/cart"}, "cancel_url", "url_invalid"),
        ({"webhook_url": "ftp://shop.example/"}, "webhook_url", "url_invalid"),
        ({"expires_in": 59}, "expires_in", "parameter_invalid"),
        ({"expires_in": 2_592_001}, "expires_in", "parameter_invalid"),
        ({"expires_in": 60.5}, "expires_in", "parameter_invalid"),
        ({"external_id": "x" * 256}, "external_id", "parameter_invalid"),
        ({"external_id": "a\u202eb"}, "external_id", "parameter_invalid"),
        ({"description": "x" * 501}, "description", "parameter_invalid"),
        ({"metadata": {str(n): "x" for n in range(51)}}, "metadata", "parameter_invalid"),
        ({"metadata": {"a": 1}}, "metadata.a", "parameter_invalid"),
        ({"metadata": {"k" * 41: "x"}}, "metadata." + "k" * 40, "parameter_invalid"),
        ({"references": "off"}, "references", "parameter_invalid"),
        ({"amonut": "1"}, "amonut", "parameter_unknown"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_stored(
    api: Api, order: Order, different: dict[str, Any], param: str, code: str
) -> None:
    error = problem(api.post(PATH, order(**different)), 400)
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, param)
    assert error["message"]


def test_all_bad_fields_are_told_at_once(api: Api, order: Order, db: None) -> None:
    error = problem(api.post(PATH, {"amount": "x", "chain_id": 1, "redirect_url": "nope", "typo": 1}), 400)
    told = {detail["param"]: detail["code"] for detail in error["details"]}
    assert told == {
        "amount": "amount_invalid",
        "token_id": "parameter_missing",
        "chain_id": "chain_unknown",
        "recipient_address": "parameter_missing",
        "redirect_url": "url_invalid",
        "typo": "parameter_unknown",
    }
    assert (error["param"], error["code"]) == ("amount", "amount_invalid")


def test_the_tokens_own_contract_is_no_recipient(api: Api, order: Order, local_chain: LocalChain) -> None:
    error = problem(api.post(PATH, order(recipient_address=local_chain.usdc.lower())), 400)
    assert error["code"] == "address_invalid"


def test_a_token_of_another_chain_is_refused(api: Api, order: Order, usdc: Token) -> None:
    Chain.objects.create(id=7, name="Seven", chain_type="evm", native_symbol="ETH")
    assert problem(api.post(PATH, order(chain_id=7)), 400)["code"] == "token_not_on_chain"


@pytest.mark.parametrize("what", ["chain", "token"])
def test_inactive_ones_take_no_new_requests(api: Api, order: Order, usdc: Token, what: str) -> None:
    row = usdc if what == "token" else usdc.chain
    type(row).objects.filter(pk=row.pk).update(is_active=False)
    assert problem(api.post(PATH, order()), 400)["code"] == f"{what}_unknown"


def test_an_address_is_stored_with_its_checksum(api: Api, order: Order, local_chain: LocalChain) -> None:
    created = api.post(PATH, order(recipient_address=local_chain.recipient.lower())).json()
    assert created["recipient_address"] == local_chain.recipient


def test_a_solana_request_takes_u64_and_base58(api: Api, db: None) -> None:
    chain = Chain.objects.create(
        id=1151111081099710,
        name="Solana",
        chain_type="solana",
        native_symbol="SOL",
        confirmations="finalized",
    )
    mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
    token = Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address=mint
    )
    body = {
        "amount": "1",
        "token_id": token.id,
        "chain_id": chain.id,
        "recipient_address": "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
    }
    assert problem(api.post(PATH, {**body, "recipient_address": mint}), 400)["code"] == "address_invalid"
    too_much = {**body, "amount": str(2**64 // 10**6 + 1)}
    assert problem(api.post(PATH, too_much), 400)["code"] == "amount_too_large"
    assert api.post(PATH, body).status_code == 201
