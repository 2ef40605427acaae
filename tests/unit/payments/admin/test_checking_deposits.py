"""`Check now` on a request's page searches for transfers to its deposit address."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client

from chains.client import ChainError
from config.admin.actions import action_url
from config.admin.portal import change_url
from payments.deposits import looks
from payments.models import DepositAddress, Payment, PaymentRequest
from tests.support.payments.deposits import KnownTransactions, give_address, moved
from tests.support.portal.payment_rows import Make, press

NUMBER = 1


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch) -> KnownTransactions:
    chain = KnownTransactions()
    monkeypatch.setitem(looks.look_now.__kwdefaults__, "client", chain.of)
    return chain


@pytest.fixture
def shown(make: Make) -> PaymentRequest:
    request = make()
    give_address(request, NUMBER)
    return request


def url(request: PaymentRequest) -> str:
    return action_url(request, "check-deposits")


def log() -> list[str]:
    return [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]


def test_transfer_is_found_once_and_logged(
    admin_client: Client, shown: PaymentRequest, chain: KnownTransactions
) -> None:
    sent = chain.add(1, moved(shown, shown.amount, str(shown.deposit_address)), block=50)
    assert url(shown) in admin_client.get(change_url(shown)).content.decode()
    assert str(shown.deposit_address) in admin_client.get(url(shown)).content.decode()
    assert not Payment.objects.exists()
    assert "1 new payment found." in press(admin_client, url(shown))
    assert str(shown.deposit_address) in admin_client.get(change_url(Payment.objects.get())).content.decode()
    assert Payment.objects.get().transaction_hash == sent
    assert "0 new payments found." in press(admin_client, url(shown))
    assert log() == [
        f"Deposit address checked: {count} found." for count in ("1 new payment", "0 new payments")
    ]


def test_search_runs_outside_a_transaction(
    admin_client: Client, shown: PaymentRequest, chain: KnownTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, a transaction would stay open while the page waits for nodes."""
    depths: list[int] = []

    def head() -> int:
        depths.append(len(connection.savepoint_ids))
        return 100

    monkeypatch.setattr(chain, "head", head)
    press(admin_client, url(shown))
    assert depths == [len(connection.savepoint_ids)]


def test_old_address_is_checked_by_the_worker(
    admin_client: Client, shown: PaymentRequest, chain: KnownTransactions
) -> None:
    DepositAddress.objects.update(next_block=90)
    assert "will be checked within a minute" in press(admin_client, url(shown))
    assert DepositAddress.objects.get().next_look_at is not None
    assert chain.searches == []


def test_check_that_ran_out_of_time_names_the_last_block(
    admin_client: Client, shown: PaymentRequest, chain: KnownTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("payments.admin.deposits.checking.SECONDS", 0)
    chain.height = 5000
    monkeypatch.setattr(chain, "block_at", lambda moment: 1001)
    assert "Only the blocks up to 1,000 of 5,000 were searched in time." in press(admin_client, url(shown))


def test_dead_nodes_are_an_error_and_no_result(
    admin_client: Client, shown: PaymentRequest, chain: KnownTransactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down() -> Any:
        raise ChainError("down")

    monkeypatch.setattr(chain, "head", down)
    assert "responded. Try again in a few seconds." in press(admin_client, url(shown))
    assert log() == []


def test_request_without_address_offers_no_check(admin_client: Client, make: Make) -> None:
    request = make()
    assert url(request) not in admin_client.get(change_url(request)).content.decode()
    assert "not possible" in admin_client.get(url(request), follow=True).content.decode()
