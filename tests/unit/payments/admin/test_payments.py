"""Search finds requests and payments by any identifier. Their pages are read-only."""

import csv
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape
from solders.signature import Signature

from chains.models import Chain, Token
from config.admin.portal import COUNTED_AT_MOST, BoundedPaginator, change_url
from merchants.models import Merchant
from merchants.staff.roles import Role, assign_role
from payments.admin.records import amount_cell
from payments.models import ConsumedTransfer, Payment, PaymentRequest, Refund, Transition
from payments.requests.events import record_failed
from payments.requests.lifecycle import cancel_request
from payments.submission.hashes import submit_hash
from tests.support.payments.credits import credit
from tests.support.payments.rows import change, new_payment
from tests.support.portal.payment_rows import HASH, RECIPIENT, SENDER, Make, fail, found, page_of
from tests.support.portal.refund_rows import create

MODELS = ("paymentrequest", "payment", "refund", "consumedtransfer", "transition")
NAMES = {
    "shortcode": lambda payment: payment.request.shortcode,
    "beginning of the shortcode": lambda payment: payment.request.shortcode[:8],
    "order number": lambda payment: "order-2/ä",
    "beginning of the order number": lambda payment: "order-2",
    "hash": lambda payment: payment.transaction_hash,
    "upper-case hash": lambda payment: payment.transaction_hash.upper(),
    "hash without 0x": lambda payment: payment.transaction_hash[2:],
    "explorer's link": lambda payment: f"https://basescan.example/tx/{payment.transaction_hash}",
    "checkout's link": lambda payment: f"https://pay.example/pay/{payment.request.shortcode}?x=1",
    "payment id": lambda payment: payment.pk,
    "beginning of the payment id": lambda payment: payment.pk[:12],
    "recipient": lambda payment: payment.request.recipient_address,
    "lower-case recipient": lambda payment: payment.request.recipient_address.lower(),
    "sender": lambda payment: SENDER.upper(),
}


@pytest.fixture
def wanted(make: Make) -> Payment:
    """A failed payment of a request. There is also an unrelated request with a failed payment."""
    other, request = make("order-1"), make("order-2/ä")
    fail(other, "0x" + "cd" * 32)
    Payment.objects.update(from_address="0x" + "3" * 40)
    PaymentRequest.objects.filter(pk=other.pk).update(recipient_address="0x" + "2" * 40)
    return fail(request)


@pytest.mark.parametrize("by", NAMES)
def test_search_finds_request_and_payment_by_any_identifier(wanted: Payment, by: str) -> None:
    text = f" {NAMES[by](wanted)} "
    assert found(PaymentRequest, text) == {wanted.request_id}
    assert found(Payment, text) == {wanted.pk}


def test_the_list_shows_what_the_search_found(admin_client: Client, wanted: Payment) -> None:
    other = PaymentRequest.objects.get(external_id="order-1")
    page = page_of(admin_client, "payments/paymentrequest", q=HASH.upper())
    assert f"/{wanted.request_id}/change/" in page
    assert f"/{other.pk}/change/" not in page
    page = page_of(admin_client, "payments/payment", q=wanted.request.shortcode)
    assert change_url(wanted) in page
    assert change_url(other.payments.get()) not in page


def test_search_finds_solana_payment_by_signature_and_wallet(wanted: Payment) -> None:
    signature, wallet = str(Signature(bytes(range(64)))), "4Nd1mYQKEm5aLGwkJJGzHjM6Tj2vWmJzqoVbBZbHhYkS"
    solana = Chain.objects.create(
        id=1151111081099710, name="Solana", chain_type="solana", native_symbol="SOL"
    )
    Payment.objects.filter(pk=wanted.pk).update(chain=solana, transaction_hash=signature, from_address=wallet)
    assert found(Payment, signature) == found(Payment, wallet) == {wanted.pk}
    assert found(Payment, signature.lower()) == set()


def test_credits_and_changes_are_found_by_what_they_belong_to(credited: ConsumedTransfer) -> None:
    payment = credited.payment
    for text in (payment.pk, payment.transaction_hash.upper()):
        assert found(ConsumedTransfer, text) == {credited.pk}
    assert found(ConsumedTransfer, "0x" + "9" * 64) == set()
    changes = set(Transition.objects.values_list("pk", flat=True))
    for text in (payment.request.shortcode, str(payment.request_id)):
        assert found(Transition, text) == changes
    assert found(Transition, payment.pk) < changes


ODD = ("%", "'", "\\", "x" * 5000, "０ｘ", "http://[", "https://", "pay_", "pay_%", "\U0001f600")


@pytest.mark.parametrize("model", [PaymentRequest, Payment, ConsumedTransfer, Transition])
def test_any_search_text_returns_a_page(failed: Payment, model: type[Model]) -> None:
    for text in ODD:
        found(model, text)


def test_request_page_shows_its_state_and_history(admin_client: Client, failed: Payment) -> None:
    page = page_of(admin_client, "payments/paymentrequest", failed.request_id)
    for part in (
        "10.50 USDC",
        "Waiting for the customer to pay",
        RECIPIENT,
        failed.id,
        "Request created",
        "Payment submitted",
        "The checkout page",
        "Payment failed",
        "Transaction not found",
        f"/pay/{failed.request.shortcode}",
    ):
        assert part in page, part


def test_payment_page_shows_its_state_and_links(admin_client: Client, failed: Payment) -> None:
    page = page_of(admin_client, "payments/payment", failed.pk)
    for part in (
        f"https://basescan.example/tx/{failed.transaction_hash}",
        f"https://basescan.example/address/{RECIPIENT}",
        failed.request.shortcode,
        change_url(failed.request.merchant),
        "The network does not know this transaction.",
        "You can check it again (3 retries left).",
        "Payment failed",
    ):
        assert part in page, part


def test_signature_of_the_sender_is_shown_to_the_merchant(admin_client: Client, failed: Payment) -> None:
    Payment.objects.update(sender_signed_at=timezone.now(), failure_code="transaction_not_bound")
    for url in (change_url(failed), change_url(failed.request)):
        assert "The sender signed for this request" in admin_client.get(url).content.decode()


def test_request_page_leaves_out_what_is_empty(admin_client: Client, make: Make) -> None:
    plain = page_of(admin_client, "payments/paymentrequest", make().pk)
    assert not [name for name in ("Metadata", "Cancel URL", "Webhook URL") if name in plain]
    full = make(description="Five kilos", redirect_url="https://shop.example/thanks")
    page = page_of(admin_client, "payments/paymentrequest", full.pk)
    assert "Five kilos" in page
    assert "https://shop.example/thanks" in page


def test_request_list_and_page_show_a_reorged_payment(admin_client: Client, failed: Payment) -> None:
    assert ">reorged<" not in "".join(page_of(admin_client, "payments/paymentrequest").split())
    Payment.objects.update(status="completed", amount_received=1, reorged=True, completed_at=timezone.now())
    assert ">reorged<" in "".join(page_of(admin_client, "payments/paymentrequest").split())
    page = page_of(admin_client, "payments/paymentrequest", failed.request_id)
    assert "A chain reorganisation removed a payment's block" in page.replace("&#x27;", "'")


def test_an_explorer_without_https_is_no_link(admin_client: Client, failed: Payment) -> None:
    Chain.objects.update(explorer_url="javascript:alert(1)")
    page = page_of(admin_client, "payments/payment", failed.pk)
    assert "javascript:alert" not in page


def test_what_a_merchant_wrote_is_shown_as_text(admin_client: Client, make: Make) -> None:
    evil = "<script>alert(1)</script>"
    request = make(evil, description=evil)
    for page in (
        page_of(admin_client, "payments/paymentrequest"),
        page_of(admin_client, "payments/paymentrequest", request.pk),
    ):
        assert evil not in page
        assert "&lt;script&gt;alert(1)" in page


def test_an_id_that_looks_escaped_leads_to_its_page(admin_client: Client, make: Make) -> None:
    request = make()
    odd = new_payment(
        id="pay_3A" + "z" * 22, request=request, chain=request.chain, transaction_hash="0x" + "ef" * 32
    )
    assert change_url(odd) in page_of(admin_client, "payments/paymentrequest", request.pk)
    assert odd.transaction_hash in str(admin_client.get(change_url(odd)).content)


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_made_changed_or_deleted(
    admin_client: Client, credited: ConsumedTransfer, model: str
) -> None:
    row = {
        "paymentrequest": credited.payment.request,
        "payment": credited.payment,
        "refund": Refund.objects.create(
            merchant=credited.payment.request.merchant, request=credited.payment.request, amount=1
        ),
        "consumedtransfer": credited,
        "transition": Transition.objects.all()[0],
    }[model]
    at = f"/admin/payments/{model}"
    # A special form creates requests (test_creating.py), not a form of all fields.
    statuses = {200} if model == "paymentrequest" else {403}
    assert {
        admin_client.get(f"{at}/add/").status_code,
        admin_client.post(f"{at}/add/", {}).status_code,
    } == statuses
    assert PaymentRequest.objects.count() == 1
    assert admin_client.post(f"{at}/{quote(row.pk)}/change/", {"status": "completed"}).status_code == 403
    assert admin_client.post(f"{at}/{quote(row.pk)}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"}
    admin_client.post(f"{at}/", chosen)
    assert admin_client.get(f"{at}/{quote(row.pk)}/change/").status_code == 200
    assert Payment.objects.get().status == "failed"
    assert ConsumedTransfer.objects.count() == 1


@pytest.mark.parametrize("model", MODELS)
def test_list_query_count_does_not_grow_with_its_length(admin_client: Client, make: Make, model: str) -> None:
    def questions() -> int:
        with CaptureQueriesContext(connection) as queries:
            page_of(admin_client, f"payments/{model}")
        return len(queries)

    def another(number: int) -> None:
        request = make(f"order-{number}")
        hash_ = f"0x{number:064x}"
        payment, _ = submit_hash(request, chain=request.chain, transaction_hash=hash_, actor="customer")
        ConsumedTransfer.objects.create(
            chain=request.chain, transaction_hash=hash_, slot="0", payment=payment, amount=1
        )

    another(1)
    page_of(admin_client, f"payments/{model}")
    one = questions()
    for number in range(2, 8):
        another(number)
    assert questions() == one


def test_refunds_of_lists_and_exports_are_read_together(admin_client: Client, make: Make) -> None:
    """Each row's badges and amounts are net of its refunds."""

    def another() -> None:
        request = make()
        credit(request, 4_000_000)
        cancel_request(request.pk, actor="test")
        request.refresh_from_db()
        create(request, amount=1_000_000)

    def questions(path: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            b"".join(admin_client.get(f"/admin/payments/paymentrequest/{path}"))
        return len(queries)

    another()
    paths = ("", "export.csv")
    once = [questions(path) for path in paths]
    once = [questions(path) for path in paths]
    another()
    another()
    assert [questions(path) for path in paths] == once
    [first, *_] = csv.DictReader(
        b"".join(admin_client.get("/admin/payments/paymentrequest/export.csv"))
        .decode("utf-8-sig")
        .splitlines()
    )
    names = ("amount_paid", "amount_remaining", "amount_refunded", "amount_refund_open")
    assert [first[name] for name in names] == ["4.000000", "7.500000", "0.000000", "1.000000"]


@pytest.mark.parametrize("model", ["payment", "refund"])
def test_list_names_the_merchant_to_operators_only(
    admin_client: Client, merchant: Merchant, make: Make, model: str
) -> None:
    paid = make("order-1")
    credit(paid, paid.amount)
    create(paid)
    name = f"<small>{escape(str(merchant))}</small>"
    assert name in page_of(admin_client, f"payments/{model}")
    member = User.objects.create_user("member", is_staff=True)
    assign_role(member, Role.VIEWER, merchant)
    client = Client()
    client.force_login(member)
    page = page_of(client, f"payments/{model}")
    assert paid.shortcode in page
    assert name not in page


def test_no_more_than_ten_thousand_rows_are_counted(make: Make) -> None:
    make()
    with CaptureQueriesContext(connection) as queries:
        assert BoundedPaginator(PaymentRequest.objects.all(), 50).count == 1
    assert f"LIMIT {COUNTED_AT_MOST}" in queries[0]["sql"]


def test_lists_begin_with_the_newest(admin_client: Client, make: Make) -> None:
    old, new = make("old"), make("new")
    page = page_of(admin_client, "payments/paymentrequest")
    assert page.index(str(new.pk)) < page.index(str(old.pk))
    later, earlier = fail(old), fail(new, "0x" + "cd" * 32)
    Payment.objects.filter(pk=earlier.pk).update(created_at=timezone.now() - timedelta(days=1))
    page = page_of(admin_client, "payments/payment")
    assert page.index(change_url(later)) < page.index(change_url(earlier))


@pytest.mark.parametrize("attention", ["overpaid", "partly", "late", "reorged", "not_bound"])
def test_what_needs_a_person_can_be_picked_out(admin_client: Client, make: Make, attention: str) -> None:
    plain, odd = make(), make()
    now = timezone.now()
    payment = fail(odd)
    of_request = {
        "overpaid": {"status": "completed", "amount_paid": 11_000_000, "completed_at": now},
        "partly": {"status": "expired", "amount_paid": 1},
        "late": {"status": "completed", "amount_paid": 10_500_000, "paid_late": True, "completed_at": now},
    }.get(attention, {})
    of_payment = {
        "overpaid": {"status": "completed", "amount_received": 1, "completed_at": now},
        "reorged": {"status": "completed", "amount_received": 1, "reorged": True, "completed_at": now},
        "not_bound": {"failure_code": "transaction_not_bound"},
    }.get(attention, {})
    PaymentRequest.objects.filter(pk=odd.pk).update(**{"status": odd.status, **of_request})
    change(payment, **{"status": "failed", **of_payment})
    found = page_of(admin_client, "payments/paymentrequest", attention=attention)
    assert f"/{odd.pk}/change/" in found
    assert f"/{plain.pk}/change/" not in found
    assert change_url(payment) in page_of(admin_client, "payments/payment", attention=attention)


def test_request_and_payment_lists_are_filtered(
    admin_client: Client, make: Make, other_merchant: Merchant
) -> None:
    mine, other = make("mine"), make("other", other_merchant)
    payment = fail(mine)
    day = timezone.now() - timedelta(days=40)
    PaymentRequest.objects.filter(pk=other.pk).update(created_at=day, status="cancelled")

    def requests(**filters: str) -> tuple[bool, bool]:
        page = page_of(admin_client, "payments/paymentrequest", **filters)
        return f"/{mine.pk}/change/" in page, f"/{other.pk}/change/" in page

    assert requests() == (True, True)
    assert requests(status__exact="cancelled") == (False, True)
    assert requests(merchant__id__exact=str(mine.merchant_id)) == (True, False)
    assert requests(chain__id__exact="8453") == (True, True)
    assert requests(token__id__exact=str(mine.token_id)) == (True, True)
    first = f"{day:%Y-%m-%d}"
    assert requests(created_at_from=first, created_at_to=first) == (False, True)
    assert requests(created_at_to="no day at all") == (True, True)
    assert change_url(payment) in page_of(
        admin_client, "payments/payment", failure_code__exact="transaction_not_found"
    )
    assert change_url(payment) not in page_of(
        admin_client, "payments/payment", failure_code__exact="wrong_token"
    )


@pytest.mark.parametrize("sees_webhooks", [True, False])
def test_history_shows_webhooks_only_with_permission(
    staff: Callable[..., Client], failed: Payment, sees_webhooks: bool
) -> None:
    record_failed(failed.request, failed)
    more = ("webhooks.view_delivery",) if sees_webhooks else ()
    page = page_of(staff("payments.view_payment", *more), "payments/payment", failed.pk)
    assert ("Event payment.failed" in page) == sees_webhooks


def test_search_finds_a_request_by_any_form_of_its_id(failed: Payment) -> None:
    request_id = str(failed.request_id)
    bare = request_id.replace("-", "")
    for text in (
        request_id,
        request_id.upper(),
        bare,
        f" {request_id} ",
        request_id[:8],
        bare[:20],
        request_id[:23],
    ):
        assert found(PaymentRequest, text) == {failed.request_id}, text
        assert found(Payment, text) == {failed.pk}, text
    assert found(PaymentRequest, request_id[:7]) == set()
    assert found(PaymentRequest, "ffffffff") == set()


def test_changes_are_found_by_order_number_and_transaction(make: Make) -> None:
    payment = fail(make("order-77"))
    everything = set(Transition.objects.filter(payment=payment).values_list("pk", flat=True))
    of_request = set(Transition.objects.filter(request=payment.request).values_list("pk", flat=True))
    assert found(Transition, "order-77") == of_request
    assert found(Transition, payment.transaction_hash.upper()) == everything


def test_payment_page_shows_next_check_but_no_empty_fields(admin_client: Client, failed: Payment) -> None:
    page = page_of(admin_client, "payments/payment", failed.pk)
    for word in ("Lease until", "Next check", "Bridge looks", "Block hash", "Delivery of a swap", "Bound by"):
        assert word not in page, word
    change(
        Payment.objects, status="pending", next_check_at=timezone.now() + timedelta(minutes=3), failed_at=None
    )
    assert "Next check" in page_of(admin_client, "payments/payment", failed.pk)


def test_what_was_simulated_is_marked_as_a_test(admin_client: Client, failed: Payment) -> None:
    for model, key in (("payments/payment", failed.pk), ("payments/paymentrequest", failed.request_id)):
        for pk in ("", key):
            marks = []
            for is_simulated in (False, True):
                Payment.objects.update(is_simulated=is_simulated)
                PaymentRequest.objects.update(is_simulated=is_simulated)
                marks.append("".join(page_of(admin_client, model, pk).split()).count(">test<"))
            assert marks[1] > marks[0], (model, pk)


def test_request_page_shows_price_and_payment_page_its_value(admin_client: Client, wanted: Payment) -> None:
    request = wanted.request
    assert "<dt>Price</dt>" not in page_of(admin_client, "payments/paymentrequest", request.pk)
    request.price = {"currency": "EUR", "amount": "25.00"}
    request.rate = {
        "value": "0.9105",
        "currency": "EUR",
        "token": "USDC",
        "sources": ["coinbase", "feeds:8453"],
        "observed_at": "2026-03-01T12:00:00Z",
    }
    request.save()
    page = page_of(admin_client, "payments/paymentrequest", request.pk)
    assert "25.00 EUR" in page
    assert "0.9105 EUR for 1 USDC (coinbase, feeds:8453, observed at" in page
    assert "<dt>Value</dt>" not in page_of(admin_client, "payments/payment", wanted.pk)  # it failed
    now = timezone.now()
    value = {"currency": "EUR", "amount": "9.11", "rate": "0.9105", "observed_at": "", "estimated": True}
    for fields, shown in (
        ({"value_due_at": now}, "waits for a rate"),
        ({"value_due_at": None}, "unknown: the token had no price in the catalogue"),
        ({"value": value}, "9.11 EUR at 0.9105, estimated from a later rate"),
    ):
        change(wanted, status="completed", amount_received=10, **fields)
        assert shown in page_of(admin_client, "payments/payment", wanted.pk)


@pytest.mark.parametrize(
    ("raw", "shown", "title"),
    [
        (10_500_000, "10.50 USDC", "10.50 USDC"),
        (1_234_567_890_000, "1,234,567.89 USDC", "1,234,567.89 USDC"),
        (123_456_789, "123.4567… USDC", "123.456789 USDC"),
        (1, "&lt;0.0001 USDC", "0.000001 USDC"),
        (0, "0 USDC", "0 USDC"),
    ],
)
def test_lists_shorten_amounts_and_keep_the_digits_as_title(raw: int, shown: str, title: str) -> None:
    coin = Token(symbol="USDC", decimals=6)
    assert amount_cell(raw, coin) == f'<span class="q-amount" title="{title}">{shown}</span>'
