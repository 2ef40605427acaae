"""Requests and payments are looked at in the portal, not made or changed, but for cancelling and retrying."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.admin.utils import quote
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from chains.models import Chain, Token
from config.portal import COUNTED_AT_MOST, BoundedPaginator, change_url
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Transition
from payments.requests import NewRequest, cancel_request, create_request
from payments.submission import submit_hash
from payments.transitions import move_payment

RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
MODELS = ("paymentrequest", "payment", "consumedtransfer", "transition")
Make = Callable[..., PaymentRequest]


@pytest.fixture
def token(db: None) -> Token:
    """A token for which no chain needs to run."""
    chain = Chain.objects.create(
        id=8453, name="Base", chain_type="evm", native_symbol="ETH", explorer_url="https://basescan.example"
    )
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "1" * 40
    )


@pytest.fixture
def make(merchant: Merchant, token: Token) -> Make:
    """Return a new request for 10.50 USDC."""

    def create(external_id: str | None = None) -> PaymentRequest:
        order = NewRequest(
            token=token,
            amount=10_500_000,
            recipient_address=RECIPIENT,
            lifetime=timedelta(hours=1),
            external_id=external_id,
        )
        return create_request(merchant, order, actor="test")

    return create


@pytest.fixture
def failed(make: Make) -> Payment:
    """A payment whose transaction was not found."""
    request = make()
    payment, _ = submit_hash(
        request, chain=request.chain, transaction_hash="0x" + "ab" * 32, actor="customer"
    )
    with transaction.atomic():
        moved = move_payment(
            payment, Payment.Status.FAILED, actor="test", failure_code="transaction_not_found"
        )
    assert moved
    return payment


@pytest.fixture
def credited(failed: Payment) -> ConsumedTransfer:
    return ConsumedTransfer.objects.create(
        chain=failed.chain, transaction_hash=failed.transaction_hash, slot="7", payment=failed, amount=5
    )


def page_of(client: Client, model: str, pk: object = "", **search: str) -> str:
    path = f"/admin/payments/{model}/" + (f"{quote(pk)}/change/" if pk else "")
    response = client.get(path, search)
    assert response.status_code == 200
    return str(response.content.decode())


def test_a_requests_page_shows_its_amounts_payments_and_history(
    admin_client: Client, failed: Payment
) -> None:
    page = page_of(admin_client, "paymentrequest", failed.request_id)
    for part in (
        "10.50 USDC",
        "0 USDC",
        RECIPIENT,
        failed.id,
        "new → active",
        "pending → failed",
        "customer",
    ):
        assert part in page


def test_a_payments_page_shows_its_transaction_and_its_request(admin_client: Client, failed: Payment) -> None:
    page = page_of(admin_client, "payment", failed.pk)
    assert f"https://basescan.example/tx/{failed.transaction_hash}" in page
    assert failed.request.shortcode in page


def test_an_id_that_looks_escaped_leads_to_its_page(admin_client: Client, make: Make) -> None:
    request = make()
    odd = Payment.objects.create(
        id="pay_3A" + "z" * 22, request=request, chain=request.chain, transaction_hash="0x" + "ef" * 32
    )
    assert change_url(odd) in page_of(admin_client, "paymentrequest", request.pk)
    assert odd.transaction_hash in str(admin_client.get(change_url(odd)).content)


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_made_changed_or_deleted(
    admin_client: Client, credited: ConsumedTransfer, model: str
) -> None:
    row = {
        "paymentrequest": credited.payment.request,
        "payment": credited.payment,
        "consumedtransfer": credited,
        "transition": Transition.objects.all()[0],
    }[model]
    at = f"/admin/payments/{model}"
    assert admin_client.get(f"{at}/add/").status_code == 403
    assert admin_client.post(f"{at}/add/", {}).status_code == 403
    assert admin_client.post(f"{at}/{quote(row.pk)}/change/", {"status": "completed"}).status_code == 403
    assert admin_client.post(f"{at}/{quote(row.pk)}/delete/", {"post": "yes"}).status_code == 403
    assert admin_client.get(f"{at}/{quote(row.pk)}/change/").status_code == 200
    assert Payment.objects.get().status == "failed"
    assert ConsumedTransfer.objects.count() == 1


@pytest.mark.parametrize("model", MODELS)
def test_a_list_asks_the_same_number_of_questions_however_long_it_is(
    admin_client: Client, make: Make, model: str
) -> None:
    def questions() -> int:
        with CaptureQueriesContext(connection) as queries:
            page_of(admin_client, model)
        return len(queries)

    def another(number: int) -> None:
        request = make(f"order-{number}")
        hash_ = f"0x{number:064x}"
        payment, _ = submit_hash(request, chain=request.chain, transaction_hash=hash_, actor="customer")
        ConsumedTransfer.objects.create(
            chain=request.chain, transaction_hash=hash_, slot="0", payment=payment, amount=1
        )

    another(1)
    page_of(admin_client, model)
    one = questions()
    for number in range(2, 8):
        another(number)
    assert questions() == one


def test_no_more_than_ten_thousand_rows_are_counted(make: Make) -> None:
    make()
    with CaptureQueriesContext(connection) as queries:
        assert BoundedPaginator(PaymentRequest.objects.all(), 50).count == 1
    assert f"LIMIT {COUNTED_AT_MOST}" in queries[0]["sql"]


@pytest.mark.parametrize("by", ["shortcode", "id", "external_id", "hash", "upper-case hash", "recipient"])
def test_a_request_is_found_by_whatever_names_it(
    admin_client: Client, make: Make, failed: Payment, by: str
) -> None:
    other, wanted = make("order-1"), failed.request
    PaymentRequest.objects.filter(pk=wanted.pk).update(external_id="order-2")
    PaymentRequest.objects.filter(pk=other.pk).update(recipient_address="0x" + "2" * 40)
    text = {
        "shortcode": wanted.shortcode,
        "id": str(wanted.pk),
        "external_id": "order-2",
        "hash": failed.transaction_hash,
        "upper-case hash": failed.transaction_hash.upper(),
        "recipient": RECIPIENT.lower(),
    }[by]
    found = page_of(admin_client, "paymentrequest", q=f" {text} ")
    assert wanted.shortcode in found
    assert other.shortcode not in found


@pytest.mark.parametrize(
    "text",
    ["%", "'", "\\", "x" * 5000, "０ｘ", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")],
)
@pytest.mark.parametrize("model", MODELS)
def test_any_search_is_answered(admin_client: Client, failed: Payment, model: str, text: str) -> None:
    page_of(admin_client, model, q=text)


@pytest.mark.parametrize("attention", ["overpaid", "partly", "late"])
def test_what_needs_a_person_can_be_picked_out(admin_client: Client, make: Make, attention: str) -> None:
    plain, odd = make(), make()
    how = {
        "overpaid": {"status": "completed", "amount_paid": 11_000_000},
        "partly": {"status": "expired", "amount_paid": 1},
        "late": {"status": "completed", "amount_paid": 10_500_000, "paid_late": True},
    }[attention]
    PaymentRequest.objects.filter(pk=odd.pk).update(**how)
    found = page_of(admin_client, "paymentrequest", attention=attention)
    assert odd.shortcode in found
    assert plain.shortcode not in found


def test_cancelling_asks_first_and_is_in_the_history(admin_client: Client, make: Make) -> None:
    request = make()
    at = f"/admin/payments/paymentrequest/{request.pk}/cancel/"
    assert "10.50 USDC" in admin_client.get(at).content.decode()
    assert PaymentRequest.objects.get().status == "active"
    assert admin_client.post(at).status_code == 302
    assert PaymentRequest.objects.get().status == "cancelled"
    last = Transition.objects.last()
    assert last is not None
    assert (last.to_status, last.actor) == ("cancelled", "admin admin")


def test_what_is_no_longer_active_is_not_cancelled(admin_client: Client, make: Make) -> None:
    request = make()
    PaymentRequest.objects.update(status="expired")
    response = admin_client.post(f"/admin/payments/paymentrequest/{request.pk}/cancel/", follow=True)
    assert "only an active one can be cancelled" in response.content.decode()
    assert PaymentRequest.objects.get().status == "expired"


def test_a_failed_payment_is_looked_at_again(admin_client: Client, failed: Payment) -> None:
    assert admin_client.post(f"/admin/payments/payment/{failed.pk}/retry/").status_code == 302
    payment = Payment.objects.get()
    assert (payment.status, payment.retries) == ("pending", 1)
    last = Transition.objects.last()
    assert last is not None
    assert (last.to_status, last.actor) == ("pending", "admin admin")


def test_what_can_not_change_is_not_looked_at_again(admin_client: Client, failed: Payment) -> None:
    Payment.objects.update(failure_code="wrong_recipient", failure_message="It went elsewhere.")
    response = admin_client.post(f"/admin/payments/payment/{failed.pk}/retry/", follow=True)
    assert "It went elsewhere." in response.content.decode()
    assert Payment.objects.get().status == "failed"


def test_an_unbound_payment_is_accepted_with_a_reason(admin_client: Client, failed: Payment) -> None:
    Payment.objects.update(failure_code="transaction_not_bound")
    at = f"/admin/payments/payment/{failed.pk}/accept/"
    assert "Nothing ties this transaction" in admin_client.get(at).content.decode()
    assert admin_client.post(at, {"reason": ""}).status_code == 200, "no reason, so it asks again"
    assert Payment.objects.get().accepted_by == ""
    assert admin_client.post(at, {"reason": "She rang us."}).status_code == 302
    payment = Payment.objects.get()
    assert (payment.status, payment.accepted_by, payment.accepted_reason) == (
        "pending",
        "admin admin",
        "She rang us.",
    )


def test_what_failed_otherwise_is_not_accepted(admin_client: Client, failed: Payment) -> None:
    at = f"/admin/payments/payment/{failed.pk}/accept/"
    response = admin_client.post(at, {"reason": "Let it be."}, follow=True)
    assert "transaction_not_bound can be accepted" in response.content.decode()
    assert Payment.objects.get().status == "failed"


def test_those_who_only_look_neither_cancel_nor_retry(
    staff: Callable[..., Client], make: Make, failed: Payment
) -> None:
    client = staff("payments.view_paymentrequest", "payments.view_payment")
    request = make()
    assert client.post(f"/admin/payments/paymentrequest/{request.pk}/cancel/").status_code == 403
    for action in ("retry", "accept"):
        assert client.post(f"/admin/payments/payment/{failed.pk}/{action}/").status_code == 403
    assert cancel_request(request.pk, actor="test").status == "cancelled"
    assert Payment.objects.get().status == "failed"
