"""The dashboard shows the gas accounts to operators, and the saved network fees to merchants."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from chains.models import Chain
from merchants.models import Merchant
from merchants.staff.roles import Role
from payments.models import DailyFees, GasAccount, PaymentRequest
from tests.support.payments.relays import SPONSOR, SPONSOR_KEY, new_authorization, new_relay
from tests.support.portal.staff import signed_in

pytestmark = pytest.mark.django_db

Requests = Callable[..., PaymentRequest]
LONG_AGO = timezone.now() - timedelta(minutes=20)
TROUBLE = "Sponsored payments in trouble"


@pytest.fixture
def account(chain: Chain, settings: Settings) -> GasAccount:
    """The gas account on a chain where the operator sponsors payments, with a budget of one coin a day."""
    settings.SPONSOR_KEYS = {"evm": SPONSOR_KEY}
    settings.SPONSOR_DAILY_BUDGET = {chain.pk: Decimal(1)}
    Chain.objects.update(explorer_url="https://explorer.example")
    return GasAccount.objects.create(
        chain=chain, address=SPONSOR, balance=1_500_000_000_000_000_001, looked_at=timezone.now()
    )


def opened(client: Client) -> Any:
    page = client.get("/admin/")
    assert page.status_code == 200
    assert SPONSOR_KEY[2:] not in page.content.decode()
    return page


def section(page: Any, name: str) -> str:
    """Return the text of a section of the page, or "" if there is none."""
    found = re.search(rf'<section aria-labelledby="{name}">(.*?)</section>', page.content.decode(), re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[1])) if found else ""


def concerns(page: Any) -> dict[str, int]:
    return {concern.title: concern.number for concern in page.context["concerns"]}


def test_operator_sees_balance_and_budget(
    admin_client: Client, account: GasAccount, request_for: Requests
) -> None:
    new_authorization(request_for(), cost=25 * 10**16)
    page = opened(admin_client)
    shown = section(page, "d-sponsors")
    for text in (
        "Local Chain working",
        "Balance 1.50 ETH",
        "0.75 ETH left of today’s 1.00 ETH",
        "1 to be sent",
    ):
        assert text in shown
    assert 'title="1.500000000000000001 ETH"' in page.content.decode()
    assert f"https://explorer.example/address/{SPONSOR}" in page.content.decode()
    assert TROUBLE not in concerns(page)


def test_operator_sees_stuck_transactions_with_their_nonces(
    admin_client: Client, account: GasAccount, request_for: Requests
) -> None:
    hashes = ["0x" + "aa" * 32, "0x" + "bb" * 32]
    long_ago = timezone.now() - timedelta(hours=5)
    for number in range(6):
        new_relay(
            new_authorization(request_for(), cost=0),
            created_at=long_ago + timedelta(seconds=number),
            hashes=hashes,
        )
    page = opened(admin_client)
    shown = section(page, "d-sponsors")
    assert "Local Chain stuck" in shown
    assert "nonce 0, 5 hours ago, signed 2 times" in shown
    assert f"https://explorer.example/tx/{hashes[-1]}" in page.content.decode()
    assert ("nonce 4" in shown, "nonce 5" in shown, "and 1 more" in shown) == (True, False, True)
    assert concerns(page)[TROUBLE] == 1


@pytest.mark.parametrize(
    ("balance", "cost", "state"),
    [
        (10**18 - 1, 0, "low balance"),
        (10**18, 9 * 10**17 + 1, "budget used"),
        (10**18, 9 * 10**17, "working"),
        (None, 0, "working"),
    ],
)
def test_state_names_what_runs_out(
    admin_client: Client,
    account: GasAccount,
    request_for: Requests,
    balance: int | None,
    cost: int,
    state: str,
) -> None:
    GasAccount.objects.update(balance=balance)
    new_authorization(request_for(), status="completed", block_number=1, cost=cost)
    page = opened(admin_client)
    assert f"Local Chain {state}" in section(page, "d-sponsors")
    assert (TROUBLE in concerns(page)) is (state != "working")


def test_section_is_absent_without_sponsoring(admin_client: Client, chain: Chain) -> None:
    assert section(opened(admin_client), "d-sponsors") == ""


def test_members_see_no_account_of_the_operator(
    account: GasAccount, merchant: Merchant, request_for: Requests
) -> None:
    GasAccount.objects.update(balance=0)
    new_relay(new_authorization(request_for()), created_at=LONG_AGO)
    page = opened(signed_in(Role.OWNER, merchant))
    assert section(page, "d-sponsors") == ""
    assert SPONSOR not in page.content.decode()
    assert TROUBLE not in concerns(page)


def test_support_sees_the_accounts(account: GasAccount) -> None:
    assert "Balance 1.50 ETH" in section(opened(signed_in(Role.SUPPORT, None)), "d-sponsors")


def test_merchant_sees_the_fees_of_its_own_payments(
    chain: Chain, merchant: Merchant, other_merchant: Merchant, request_for: Requests
) -> None:
    request_for()
    today = timezone.now().date()
    for owner, saved in ((merchant, 12_345_678_901_234), (other_merchant, 7 * 10**18)):
        DailyFees.objects.create(
            day=today, merchant=owner, chain=chain, payments=3, saved=saved, spent=saved + 10**12
        )
    page = opened(signed_in(Role.VIEWER, merchant))
    shown = section(page, "d-fees")
    assert "Network fees paid for your customers" in shown
    assert "0.000012345679 ETH saved by customers in 3 payments" in shown
    assert "0.000013345679 ETH spent by the operator" in shown
    assert 'title="0.000012345678901234 ETH"' in page.content.decode()
    assert "7.00" not in shown


def test_section_on_fees_is_absent_without_sponsored_payments(
    merchant: Merchant, request_for: Requests
) -> None:
    request_for()
    assert section(opened(signed_in(Role.OWNER, merchant)), "d-fees") == ""


def test_fees_of_a_removed_chain_family_are_left_out(
    admin_client: Client, chain: Chain, merchant: Merchant, request_for: Requests
) -> None:
    new_relay(new_authorization(request_for()), created_at=LONG_AGO)
    DailyFees.objects.create(
        day=timezone.now().date(), merchant=None, chain=chain, payments=1, saved=1, spent=1
    )
    Chain.objects.update(chain_type="removed")
    page = opened(admin_client)
    assert (section(page, "d-sponsors"), section(page, "d-fees")) == ("", "")
