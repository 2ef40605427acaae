"""The filtered list as a CSV file: only its rows, streamed, exact, and safe to open in a spreadsheet."""

import csv
import gc
import io
import re
import tracemalloc
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.http import StreamingHttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from config.api.limits import waiting
from config.api.serializers import one_line
from merchants.models import AuditEntry
from payments.admin import export
from payments.admin.export import safe
from payments.admin.payments import COLUMNS as PAYMENT_COLUMNS
from payments.admin.refunds import COLUMNS as REFUND_COLUMNS
from payments.admin.requests import COLUMNS as REQUEST_COLUMNS
from payments.models import Payment, PaymentRequest, Refund
from tests.support.docs.pages import REPOSITORY, table_rows
from tests.support.payments.rows import new_payment
from tests.support.portal.payment_rows import HASH, RECIPIENT, SENDER, Make, fail

REQUESTS = "/admin/payments/paymentrequest/export.csv"
PAYMENTS = "/admin/payments/payment/export.csv"


def streamed(client: Client, url: str, **query: str) -> StreamingHttpResponse:
    answer: Any = client.get(url, query)
    assert answer.status_code == 200
    assert answer.streaming
    return answer  # type: ignore[no-any-return]


def rows(client: Client, url: str, **query: str) -> list[dict[str, str]]:
    text = b"".join(streamed(client, url, **query)).decode("utf-8-sig")  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_requests_come_with_exact_amounts_and_times(admin_client: Client, make: Make) -> None:
    request = make("order-1")
    PaymentRequest.objects.update(amount=2**255 + 1, amount_paid=1)
    (row,) = rows(admin_client, REQUESTS)
    assert row["id"] == str(request.pk)
    assert row["shortcode"] == request.shortcode
    assert row["amount"] == f"{(2**255 + 1) // 10**6}.{(2**255 + 1) % 10**6:06d}"
    assert (row["amount_paid"], row["token"], row["merchant"]) == ("0.000001", "USDC", "Alice's Bakery")
    assert row["created_at"] == f"{request.created_at:%Y-%m-%dT%H:%M:%S}Z"
    assert (row["completed_at"], row["recipient_address"]) == ("", RECIPIENT)


def test_payments_come_with_their_request_and_their_transaction(admin_client: Client, make: Make) -> None:
    payment = fail(make("order-1"))
    (row,) = rows(admin_client, PAYMENTS)
    assert (row["id"], row["shortcode"], row["external_id"]) == (
        payment.pk,
        payment.request.shortcode,
        "order-1",
    )
    assert (row["transaction_hash"], row["from_address"]) == (HASH, SENDER)
    assert (row["status"], row["failure_code"], row["amount_received"]) == (
        "failed",
        "transaction_not_found",
        "",
    )
    assert row["explorer_url"] == f"https://basescan.example/tx/{HASH}"


def test_refunds_come_with_their_request_and_status(admin_client: Client, make: Make) -> None:
    request = make("order-1")
    refund = Refund.objects.create(
        merchant=request.merchant, request=request, amount=500_000, reason="=damaged"
    )
    Refund.objects.create(
        merchant=request.merchant, request=request, amount=1, cancelled_at=refund.created_at
    )
    cancelled, waiting = rows(admin_client, "/admin/payments/refund/export.csv")
    assert (cancelled["status"], waiting["status"]) == ("cancelled", "requires_address")
    names = (
        "id",
        "shortcode",
        "external_id",
        "amount",
        "token",
        "reason",
        "transaction_hash",
        "is_simulated",
    )
    assert [waiting[name] for name in names] == [
        refund.pk,
        request.shortcode,
        "order-1",
        "0.500000",
        "USDC",
        "'=damaged",
        "",
        "false",
    ]


def test_prices_and_values_come_as_exact_decimal_text(admin_client: Client, make: Make) -> None:
    payment, other = fail(make("order-1")), make("order-2")
    PaymentRequest.objects.filter(pk=payment.request_id).update(
        price={"currency": "EUR", "amount": "25.00"}, rate={"value": "0.910543567331", "currency": "EUR"}
    )
    observed_at = "2026-03-01T12:00:00Z"
    value = {"currency": "JPY", "amount": "90071992547409931", "rate": "150.1", "observed_at": observed_at}
    payment.value = {**value, "estimated": True}
    payment.save()
    fail(other, "0x" + "cd" * 32)
    without, priced = rows(admin_client, REQUESTS)
    assert [priced[name] for name in ("price", "price_currency", "rate")] == [
        "25.00",
        "EUR",
        "0.910543567331",
    ]
    assert [without[name] for name in ("price", "price_currency", "rate")] == ["", "", ""]
    names = ("value", "value_currency", "value_rate", "value_observed_at", "value_estimated")
    of_other, valued = rows(admin_client, PAYMENTS)
    assert [valued[name] for name in names] == ["90071992547409931", "JPY", "150.1", observed_at, "true"]
    assert [of_other[name] for name in names] == ["", "", "", "", ""]


def test_csv_has_rows_of_the_searched_and_filtered_list(admin_client: Client, make: Make) -> None:
    active, cancelled = make("order-1"), make("order-2")
    PaymentRequest.objects.filter(pk=cancelled.pk).update(status="cancelled")
    assert [row["id"] for row in rows(admin_client, REQUESTS)] == [str(cancelled.pk), str(active.pk)]
    assert [row["id"] for row in rows(admin_client, REQUESTS, status__exact="cancelled")] == [
        str(cancelled.pk)
    ]
    assert [row["id"] for row in rows(admin_client, REQUESTS, q="order-1")] == [str(active.pk)]
    assert rows(admin_client, REQUESTS, q="order-3") == []
    page = admin_client.get(
        "/admin/payments/paymentrequest/", {"status__exact": "cancelled"}
    ).content.decode()
    assert f"{REQUESTS}?status__exact=cancelled" in page


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        "  =1+1",
        "＝1+1",
        '=HYPERLINK("https://evil.example";"x")',
        "=cmd|' /C calc'!A0",
    ],
)
def test_no_cell_is_a_formula(admin_client: Client, make: Make, text: str) -> None:
    make(text, description=text)
    (row,) = rows(admin_client, REQUESTS)
    assert row["external_id"] == row["description"] == f"'{one_line(text)}"


def test_commas_quotes_and_other_letters_survive(admin_client: Client, make: Make) -> None:
    text = 'Zwölf "Brötchen", semicolon; 面包'
    make(text, description=f"{text}\nTwo lines")
    (row,) = rows(admin_client, REQUESTS)
    assert (row["external_id"], row["description"]) == (text, f"{text} Two lines")


def test_what_is_no_formula_stays_as_it_is() -> None:
    assert [safe(value) for value in ("a=b", "10.50", "0", "", None, True, 7)] == [
        "a=b",
        "10.50",
        "0",
        "",
        "",
        "true",
        "7",
    ]


def test_export_begins_with_a_utf_8_mark(admin_client: Client, make: Make) -> None:
    make()
    answer = streamed(admin_client, REQUESTS)
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert "no-store" in answer["Cache-Control"]
    assert answer["Content-Disposition"].startswith('attachment; filename="payment-requests-')
    assert next(iter(answer)).startswith(b"\xef\xbb\xbfid,shortcode,")


def many(make: Make, count: int) -> None:
    one = make()
    PaymentRequest.objects.bulk_create(
        PaymentRequest(
            merchant=one.merchant,
            chain=one.chain,
            token=one.token,
            amount=number,
            recipient_address=RECIPIENT,
            expires_at=one.expires_at,
            expiry_check_at=one.expiry_check_at,
        )
        for number in range(1, count)
    )


def test_the_first_bytes_come_before_the_first_row_is_read(admin_client: Client, make: Make) -> None:
    many(make, 50)
    answer = iter(streamed(admin_client, REQUESTS))
    with CaptureQueriesContext(connection) as queries:
        next(answer)
    assert len(queries) == 0


def test_pages_of_any_size_make_the_same_file(
    admin_client: Client, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(make, 23)
    for payment in range(7):
        request = make()
        new_payment(request=request, chain=request.chain, transaction_hash=f"0x{payment:064x}")
    Payment.objects.update(created_at=make().created_at)  # all at the same time
    whole = rows(admin_client, REQUESTS), rows(admin_client, PAYMENTS)
    assert (len(whole[0]), len(whole[1])) == (31, 7)
    for size in (1, 2, 5, 7, 31):
        monkeypatch.setattr(export, "PAGE", size)
        assert (rows(admin_client, REQUESTS), rows(admin_client, PAYMENTS)) == whole


def test_a_long_file_takes_no_more_memory_than_a_short_one(
    admin_client: Client, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PAGE", 20)

    def peak() -> int:
        answer = streamed(admin_client, REQUESTS)
        tracemalloc.start()
        try:
            for _ in answer:
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    many(make, 60)
    peak()
    short = peak()
    many(make, 600)
    assert peak() < 2 * short


def test_who_took_what_is_written_down_with_the_number_of_rows(admin_client: Client, make: Make) -> None:
    make("order-1"), make("order-2")
    rows(admin_client, REQUESTS, q="order-1")
    entry = LogEntry.objects.get()
    assert entry.user.get_username() == "admin"
    assert entry.get_change_message() == "Exported as CSV: q=order-1 (1 rows)"
    assert entry.object_repr == "CSV export of payment requests"
    logged = AuditEntry.objects.get(what="exported")
    assert (logged.actor, logged.subject, logged.detail) == ("admin", "payment requests", "q=order-1")


@pytest.mark.django_db(transaction=True)
def test_one_that_was_broken_off_says_how_far_it_came(
    admin_client: Client, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    many(make, 20)
    monkeypatch.setattr(export, "PAGE", 4)
    answer = streamed(admin_client, REQUESTS)
    pieces = iter(answer)
    next(pieces), next(pieces)
    answer.close()
    assert LogEntry.objects.get().get_change_message() == "Exported as CSV: all (4 rows)"


def test_a_filter_that_is_none_leads_back_to_the_list(admin_client: Client, make: Make) -> None:
    make()
    answer = admin_client.get(REQUESTS, {"created_at__gte": "yesterday"})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/payments/paymentrequest/")
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("payment requests", REQUEST_COLUMNS),
        ("payments", PAYMENT_COLUMNS),
        ("refunds", REFUND_COLUMNS),
    ],
)
def test_the_columns_are_the_documented_ones(name: str, columns: tuple[export.Column, ...]) -> None:
    page = REPOSITORY / "docs" / "operating.md"
    (listed,) = [row[1] for row in table_rows(page) if row[0] == name]
    documented = re.findall(r"`(\w+)`", re.sub(r" \([^)]*\)", "", listed))
    assert documented == [column.name for column in columns]


def test_downloads_that_are_read_slowly_leave_threads_to_others(
    admin_client: Client, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "_threads", waiting._Threads())
    make("order-1")
    slow = [streamed(admin_client, REQUESTS) for _ in range(export.MAX_AT_ONCE)]
    before = LogEntry.objects.count()
    refused = admin_client.get(REQUESTS, {"status": "active"})
    assert (refused.status_code, refused["Location"]) == (
        302,
        "/admin/payments/paymentrequest/?status=active",
    )
    assert "Too many exports are being downloaded" in admin_client.get(refused["Location"]).content.decode()
    assert LogEntry.objects.count() == before
    assert b"order-1" in b"".join(slow.pop())  # type: ignore[arg-type]
    assert len(rows(admin_client, REQUESTS)) == 1
    del slow[0]  # neither read nor closed
    gc.collect()
    downloads = [streamed(admin_client, REQUESTS) for _ in range(export.MAX_AT_ONCE - len(slow))]
    assert admin_client.get(REQUESTS).status_code == 302
    assert downloads
