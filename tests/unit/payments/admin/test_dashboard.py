"""The dashboard shows exact figures of the right merchant.

Each kind of case has a list with exactly that many rows.
"""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from chains.models import Chain, ChainStatus, Token
from merchants.models import Merchant
from merchants.staff.roles import Role
from payments.admin.dashboard.plots import duration, percentage, short_amount
from payments.models import PaymentRequest
from payments.stats.daily import update_statistics
from tests.support.payments.days import DAY, a_delivery, a_payment, a_request, paid
from tests.support.portal.staff import signed_in
from webhooks.models import Endpoint

NOW = timezone.now()
EARLIER = NOW - timedelta(minutes=30)


@pytest.fixture
def token(db: None) -> Token:
    chain = Chain.objects.create(
        id=8453, name="Base", chain_type="evm", native_symbol="ETH", rpc_urls=["https://node.invalid/key"]
    )
    return Token.objects.create(
        chain=chain, symbol="DAI", name="Dai", decimals=18, contract_address="0x" + "2" * 40
    )


def owner_of(merchant: Merchant) -> Client:
    return signed_in(Role.OWNER, merchant)


def opened(client: Client, **parameters: str) -> Any:
    page = client.get("/admin/", parameters)
    assert page.status_code == 200
    return page


def text_of(page: Any) -> str:
    shown = page.content.decode().partition('<div class="d-page">')[2].partition("<script")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown))


def plots_of(page: Any) -> Any:
    found = re.search(r'<script id="dashboard-figures"[^>]*>(.*?)</script>', page.content.decode())
    assert found
    return json.loads(found[1])


def concerns_of(page: Any) -> dict[str, str]:
    return {concern.title: concern.count for concern in page.context["concerns"]}


def test_figures_are_exact_however_large_or_small(
    admin_client: Client, token: Token, merchant: Merchant
) -> None:
    amount = 123_456_789_012_345_678_901_234_567
    paid(a_request(merchant, token, EARLIER, amount=amount), EARLIER)
    paid(a_request(merchant, token, EARLIER, amount=1), EARLIER)
    update_statistics()
    page = opened(admin_client)
    assert "123,456,789.0123" in text_of(page)
    assert 'title="123,456,789.012345678901234568 DAI"' in page.content.decode()
    drawn = plots_of(page)["plots"][f"volume-{token.pk}"]["series"][0]
    assert "123456789.012345678901234568" in drawn["values"]
    assert "123,456,789.012345678901234568 DAI" in drawn["texts"]


@pytest.mark.parametrize(("environment", "is_said"), [("staging", True), ("development", False)])
def test_staging_says_that_simulated_payments_do_not_count(
    admin_client: Client,
    token: Token,
    merchant: Merchant,
    settings: LazySettings,
    environment: str,
    is_said: bool,
) -> None:
    settings.ENVIRONMENT = environment
    paid(a_request(merchant, token, EARLIER, amount=1), EARLIER)
    assert ("Simulated requests and payments are not counted." in text_of(opened(admin_client))) is is_said


def test_staff_see_their_merchants_figures_operators_all(
    admin_client: Client,
    token: Token,
    merchant: Merchant,
    other_merchant: Merchant,
) -> None:
    ether = 10**18
    for _ in range(3):
        paid(a_request(merchant, token, EARLIER, amount=ether), EARLIER)
    paid(
        a_request(other_merchant, token, EARLIER, amount=5 * ether, amount_paid=0), EARLIER, amount=6 * ether
    )
    a_request(other_merchant, token, EARLIER)
    a_delivery(merchant, EARLIER, delivered=False)
    update_statistics()
    everybody, own, other = (
        opened(client) for client in (admin_client, owner_of(merchant), owner_of(other_merchant))
    )
    assert [card["value"] for card in everybody.context["cards"]][:2] == ["5", "100 %"]
    assert [card["value"] for card in own.context["cards"]][:2] == ["3", "100 %"]
    assert [card["value"] for card in other.context["cards"]][:2] == ["2", "100 %"]
    assert other.context["cards"][1]["note"] == "1 of 1 · 1 still open"
    assert [page.context["volumes"][0]["amount"] for page in (everybody, own, other)] == ["9", "3", "6"]
    assert concerns_of(everybody) == {"Overpaid requests": "1", "Failed deliveries": "1"}
    assert concerns_of(own) == {"Failed deliveries": "1"}
    assert concerns_of(other) == {"Overpaid requests": "1"}
    assert "All merchants" in text_of(everybody)
    assert merchant.name.replace("'", "&#x27;") in text_of(own)
    for page in (own, other):
        assert not page.context["chains"]
        assert "Base is" not in text_of(page)


def test_every_concern_leads_to_a_list_with_just_as_many(
    admin_client: Client, token: Token, merchant: Merchant
) -> None:
    paid(a_request(merchant, token, EARLIER), EARLIER, amount=11 * 10**18)
    reorged = paid(a_request(merchant, token, EARLIER), EARLIER)
    reorged.reorged = True
    reorged.save()
    for _ in range(2):
        a_payment(a_request(merchant, token, EARLIER), EARLIER, failure_code="transaction_not_bound")
    done = a_request(merchant, token, EARLIER)
    paid(done, EARLIER)
    a_payment(done, EARLIER, failure_code="transaction_not_bound")
    part = a_request(merchant, token, EARLIER)
    paid(part, EARLIER, amount=1)
    part.status, part.expired_at = "expired", EARLIER
    part.save()
    a_payment(
        a_request(merchant, token, EARLIER),
        EARLIER,
        status="processing",
        next_check_at=NOW,
        unanswered_since=NOW - timedelta(hours=2),
    )
    for delivered in (True, False, False):
        a_delivery(merchant, EARLIER, delivered=delivered)
    Endpoint.objects.create(
        merchant=merchant, url="https://a.example", secret_encrypted=b"x", failing_since=NOW - 2 * DAY
    )
    ChainStatus.objects.create(
        chain=token.chain, looked_at=timezone.now(), nodes=[{"host": "n", "state": "failing", "behind": None}]
    )
    page = opened(admin_client)
    assert concerns_of(page) == {
        "Reversed after completion": "1",
        "Verification stalled": "1",
        "Endpoints that can't receive": "1",
        "Chains in trouble": "1",
        "Payments that can be accepted": "2",
        "Overpaid requests": "1",
        "Closed with money paid": "1",
        "Failed deliveries": "2",
    }
    for concern in page.context["concerns"]:
        behind = admin_client.get(concern.url)
        assert behind.status_code == 200, concern.url
        assert behind.context["cl"].result_count == concern.number, concern.url


def test_old_problems_are_not_in_needs_attention(
    admin_client: Client, token: Token, merchant: Merchant
) -> None:
    long_ago = NOW - 31 * DAY
    paid(a_request(merchant, token, long_ago), long_ago, amount=11 * 10**18)
    a_payment(a_request(merchant, token, long_ago), long_ago, failure_code="transaction_not_bound")
    a_delivery(merchant, long_ago, delivered=False)
    update_statistics()
    page = opened(admin_client)
    assert concerns_of(page) == {}
    assert "Nothing needs attention." in text_of(page)


def test_simulated_payments_need_no_attention(admin_client: Client, token: Token, merchant: Merchant) -> None:
    def happen(*, simulated: bool) -> None:
        a_payment(
            a_request(merchant, token, EARLIER),
            EARLIER,
            failure_code="transaction_not_bound",
            is_simulated=simulated,
        )
        overpaid = paid(a_request(merchant, token, EARLIER), EARLIER, amount=11 * 10**18)
        partly = paid(a_request(merchant, token, EARLIER), EARLIER, amount=10**18)
        reversed_one = paid(a_request(merchant, token, EARLIER), EARLIER)
        type(partly.request).objects.filter(pk=partly.request_id).update(status="expired", expired_at=NOW)
        for payment in (overpaid, partly, reversed_one):
            payment.is_simulated = simulated
            payment.reorged = payment is reversed_one
            payment.save()
        if simulated:
            PaymentRequest.objects.update(is_simulated=True)

    happen(simulated=True)
    page = opened(admin_client)
    assert concerns_of(page) == {}
    for model, matter in (
        ("payment", "reorged"),
        ("payment", "not_bound"),
        ("payment", "overpaid"),
        ("paymentrequest", "overpaid"),
        ("paymentrequest", "partly"),
    ):
        behind = admin_client.get(f"/admin/payments/{model}/", {"attention": matter})
        assert behind.context["cl"].result_count == 0, (model, matter)

    happen(simulated=False)
    assert concerns_of(opened(admin_client)) == {
        "Reversed after completion": "1",
        "Payments that can be accepted": "1",
        "Overpaid requests": "1",
        "Closed with money paid": "1",
    }


def test_period_is_7_30_or_90_days_and_otherwise_30_days(
    admin_client: Client, token: Token, merchant: Merchant
) -> None:
    for days in (0, 20, 60):
        a_request(merchant, token, NOW - days * DAY)
    update_statistics()
    shown = {
        asked: (
            opened(admin_client, days=asked).context["cards"][0]["value"],
            len(plots_of(opened(admin_client, days=asked))["days"]),
        )
        for asked in ("7", "30", "90", "100000", "x")
    }
    assert shown == {"7": ("1", 7), "30": ("2", 30), "90": ("3", 90), "100000": ("2", 30), "x": ("2", 30)}


def test_empty_service_shows_first_steps_and_marks_done_ones(admin_client: Client) -> None:
    steps = opened(admin_client).context["first_steps"]
    assert [(step["title"], step["done"]) for step in steps] == [
        ("Load the catalogue", False),
        ("Create a merchant", False),
        ("Issue an API key", False),
        ("Create a payment request with the API", False),
    ]
    Merchant.objects.create(name="Alice's Bakery")
    page = opened(admin_client)
    assert [step["done"] for step in page.context["first_steps"]] == [False, True, False, False]
    assert "/admin/merchants/apikey/add/" in page.content.decode()
    assert 'href="/api/docs"' in page.content.decode()


def test_a_merchants_first_steps_are_their_own(
    token: Token, merchant: Merchant, other_merchant: Merchant
) -> None:
    a_request(other_merchant, token, EARLIER)
    steps = opened(owner_of(merchant)).context["first_steps"]
    assert [(step["title"], step["url"], step["done"]) for step in steps] == [
        ("Choose how your checkout looks", f"/admin/merchants/merchant/{merchant.pk}/change/", False),
        ("Request the first payment", "/admin/payments/paymentrequest/add/", False),
        ("Issue an API key", "/admin/merchants/apikey/add/", False),
        ("Create a payment request with the API", "/api/docs", False),
    ]


@pytest.mark.parametrize(
    ("role", "steps"),
    [
        (Role.DEVELOPER, [("Issue an API key", True), ("Create a payment request with the API", True)]),
        (Role.FINANCE, [("Request the first payment", True)]),
        (Role.VIEWER, [("Request the first payment", False)]),
    ],
)
def test_first_steps_offer_only_what_the_role_may_do(
    role: str, steps: list[tuple[str, bool]], merchant: Merchant
) -> None:
    shown = opened(signed_in(role, merchant)).context["first_steps"]
    assert [(step["title"], bool(step["url"])) for step in shown] == steps


def test_dashboard_query_count_is_constant_without_nodes(
    admin_client: Client, token: Token, merchant: Merchant
) -> None:
    paid(a_request(merchant, token, EARLIER), EARLIER)
    update_statistics()
    opened(admin_client)
    with CaptureQueriesContext(connection) as few:
        page = opened(admin_client, days="90")
    assert "unknown" in text_of(page)  # no worker has checked the chain, nor does the page
    for number in range(5):
        other = Token.objects.create(
            chain=token.chain, symbol=f"T{number}", name="T", decimals=6, contract_address=f"0x{number:040x}"
        )
        for days in range(9):
            paid(a_request(merchant, other, NOW - days * DAY), NOW - days * DAY)
    update_statistics()
    with CaptureQueriesContext(connection) as many:
        opened(admin_client, days="90")
    assert len(many) == len(few)


def test_a_period_is_compared_with_the_one_before(
    admin_client: Client, token: Token, merchant: Merchant
) -> None:
    def note() -> str:
        update_statistics()
        return str(opened(admin_client, days="7").context["cards"][0]["note"])

    a_request(merchant, token, NOW)
    assert note() == "none in the 7 days before"
    for _ in range(2):
        a_request(merchant, token, NOW - 8 * DAY)
    assert note() == "50 % fewer than in the 7 days before"
    a_request(merchant, token, NOW)
    assert note() == "as many as in the 7 days before"
    for _ in range(18):
        a_request(merchant, token, NOW)
    assert note() == "10 times as many as in the 7 days before"


def test_figures_are_written_as_people_read_them() -> None:
    assert [percentage(*share) for share in ((0, 0), (0, 3), (1, 3), (1, 2), (9999, 10000), (3, 3))] == [
        "—",
        "0 %",
        "33.3 %",
        "50.0 %",
        "99.9 %",
        "100 %",
    ]
    assert [duration(ms) for ms in (None, 900, 42_000, 200_000, 3_900_000)] == [
        "—",
        "0.9 s",
        "42 s",
        "3 min 20 s",
        "1 h 5 min",
    ]
    assert [short_amount(raw, 6) for raw in (0, 1, 1_500_000, 1_234_567_000_001)] == [
        "0",
        "<0.0001",
        "1.50",
        "1,234,567",
    ]


def test_dashboard_sums_values_and_counts_payments_without_one(token: Token, merchant: Merchant) -> None:
    for currency, amount in (("EUR", "1234567.80"), ("EUR", "0.05"), ("JPY", "1500"), (None, None)):
        payment = paid(a_request(merchant, token, EARLIER), EARLIER)
        if currency:
            payment.value = {"currency": currency, "amount": amount, "rate": "1", "estimated": False}
            payment.save()
    update_statistics()
    page = opened(owner_of(merchant))
    assert [(value["currency"], value["amount"], value["payments"]) for value in page.context["values"]] == [
        ("EUR", "1,234,567.85", "2 payments"),
        ("JPY", "1,500", "1 payment"),
    ]
    drawn = plots_of(page)["plots"]["value-EUR"]["series"][0]
    assert "1,234,567.85 EUR" in drawn["texts"]
    assert all(isinstance(value, str) for value in drawn["values"])
    assert "1 of 4 payments has no value: its token has no price in the catalogue" in text_of(page)


def test_no_note_on_missing_values_if_none_is_missing(
    admin_client: Client, token: Token, merchant: Merchant
) -> None:
    payment = paid(
        a_request(merchant, token, NOW), NOW
    )  # this day is counted again, even just after midnight
    payment.value = {"currency": "EUR", "amount": "9.00", "rate": "0.9", "estimated": True}
    payment.save()
    update_statistics()
    page = opened(admin_client)
    assert "9.00" in text_of(page)
    assert page.context["without_value"] == ""
    payment.value = None
    payment.save()
    update_statistics()
    assert "1 of 1 payment has no value" in text_of(opened(admin_client))


def test_open_requests_do_not_count_as_unpaid(admin_client: Client, token: Token, merchant: Merchant) -> None:
    paid(a_request(merchant, token, EARLIER), EARLIER)
    for status in ("active", "active", "expired"):
        request = a_request(merchant, token, EARLIER)
        request.status, request.expired_at = status, EARLIER if status == "expired" else None
        request.save()
    update_statistics()
    _, card, *_ = opened(admin_client).context["cards"]
    assert (card["value"], card["note"]) == ("50.0 %", "1 of 2 · 2 still open")


def test_sentence_replaces_each_chart_without_data(
    admin_client: Client, token: Token, merchant: Merchant
) -> None:
    # Within half an hour after midnight, `EARLIER` is a day that the second update doesn't count again.
    today = timezone.now()
    a_request(merchant, token, today)
    update_statistics()
    page = opened(admin_client)
    assert 'data-plot="requests"' in page.content.decode()
    for chart, sentence in (
        ("times", "No confirmed payment was counted in this period."),
        ("webhooks", "No finished delivery was counted in this period."),
    ):
        assert f'data-plot="{chart}"' not in page.content.decode()
        assert sentence in text_of(page)
    paid(a_request(merchant, token, today), today)
    a_delivery(merchant, today, delivered=True)
    update_statistics()
    page = opened(admin_client)
    assert page.content.decode().count("data-plot=") == 4
    assert "No confirmed payment" not in text_of(page)
