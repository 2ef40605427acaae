"""The gas accounts' balances are checked even if there is nothing to send."""

import threading
from typing import Any, cast

import pytest
from django.utils import timezone
from pytest_django import Settings

from chains.client import ChainClient, ChainError
from chains.models import Chain
from payments.models import GasAccount
from payments.sponsoring import accounts
from tests.support.payments.relays import SPONSOR

pytestmark = pytest.mark.django_db


class Node:
    def __init__(self, balance: int | None) -> None:
        self._balance = balance

    def balances(self, address: str, tokens: list[str]) -> dict[str, int]:
        assert (address, tokens) == (SPONSOR, [""])
        if self._balance is None:
            raise ChainError("no node sent a usable response")
        return {"": self._balance}


def check(balance: int | None) -> int:
    return accounts.check_balances(client=lambda _: cast(ChainClient, Node(balance)))


def test_balance_is_stored_before_the_first_relay(sponsored: Chain) -> None:
    before = timezone.now()
    assert check(7) == 1
    account = GasAccount.objects.get()
    assert (account.chain, account.address, account.balance) == (sponsored, SPONSOR, 7)
    assert (account.looked_at or before) > before
    assert account.next_look_at is None  # nothing to send


def test_unreachable_chain_keeps_its_last_balance(sponsored: Chain) -> None:
    check(7)
    looked_at = GasAccount.objects.get().looked_at
    assert check(None) == 0
    account = GasAccount.objects.get()
    assert (account.balance, account.looked_at) == (7, looked_at)


def test_hanging_chain_delays_no_other(sponsored: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    class Hanging(Node):
        def balances(self, address: str, tokens: list[str]) -> dict[str, int]:
            released.wait(60)
            return super().balances(address, tokens)

    monkeypatch.setattr(accounts, "TIMEOUT_SECONDS", 0)
    try:
        assert accounts.check_balances(client=lambda _: cast(ChainClient, Hanging(7))) == 0
    finally:
        released.set()
    assert GasAccount.objects.get().balance is None


@pytest.mark.parametrize("off", ["key", "budget", "chain"])
def test_nothing_is_checked_without_sponsoring(sponsored: Chain, settings: Settings, off: str) -> None:
    if off == "key":
        settings.SPONSOR_KEYS = {"evm": ""}
    elif off == "budget":
        settings.SPONSOR_DAILY_BUDGET = {}
    else:
        Chain.objects.update(is_active=False)

    def never(_: Any) -> ChainClient:
        raise AssertionError("a node was queried")

    assert accounts.check_balances(client=never) == 0
    assert not GasAccount.objects.exists()
