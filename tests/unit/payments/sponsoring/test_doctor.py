"""Doctor reports a gas account that can't pay, a budget without effect and a stuck transaction. It prints no key."""

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import cast

import pytest
from django.utils import timezone
from pytest_django import Settings
from solders.keypair import Keypair

from chains.client import ChainClient, ChainError
from chains.models import Chain, Token
from config.doctor.finding import Finding, Level
from payments.models import PaymentRequest, Relay
from payments.sponsoring import doctor
from tests.support.operations.findings import found, levels
from tests.support.payments.relays import RULES, SPONSOR, SPONSOR_KEY, new_authorization, new_relay

pytestmark = pytest.mark.django_db

FEE = 10**13
ACCOUNT = "sponsor on Local Chain"


class Node:
    def __init__(self, balance: int | None, fee: int) -> None:
        self._balance = balance
        self._fee = fee

    def balances(self, *_: object) -> dict[str, int]:
        if self._balance is None:
            raise ChainError("no node sent a usable response")
        return {"": self._balance}

    def usual_fee(self, _: str) -> int:
        return self._fee


def check(balance: int | None = 10**19, fee: int = FEE, now: datetime | None = None) -> list[Finding]:
    at = now or timezone.now()
    findings = list(doctor.check(client=lambda _: cast(ChainClient, Node(balance, fee)), now=lambda: at))
    text = " ".join(f"{each.subject} {each.summary} {each.advice}" for each in findings)
    assert SPONSOR_KEY[2:] not in text
    return findings


@pytest.fixture
def token(sponsored: Chain, usdc: Token) -> Token:
    Token.objects.filter(pk=usdc.pk).update(authorization=RULES)
    return usdc


def test_nothing_to_check_without_settings(chain: Chain, settings: Settings) -> None:
    settings.SPONSOR_KEYS, settings.SPONSOR_DAILY_BUDGET = {"evm": ""}, {}
    assert found(check(), Level.OK) == ["sponsoring: off: customers pay the network fee themselves"]


def test_account_with_enough_for_its_budget_is_fine(token: Token) -> None:
    [finding] = check()
    assert (finding.level, finding.subject) == (Level.OK, ACCOUNT)
    assert finding.summary == f"{SPONSOR} has 10 ETH, and spends 1 ETH a day at most"


@pytest.mark.parametrize(
    ("balance", "level", "words"),
    [
        (10**18, "ok", ""),
        (10**18 - 1, "warning", "the balance ends before the budget"),
        (4 * FEE - 1, "failed", "nothing is sponsored"),
        (0, "failed", "nothing is sponsored"),
    ],
)
def test_low_balance_is_named(token: Token, balance: int, level: str, words: str) -> None:
    [finding] = check(balance)
    assert finding.level.value == level
    assert words in finding.summary


def test_budget_too_small_for_one_payment_is_named(token: Token, settings: Settings) -> None:
    """A request can use at most a hundredth of the budget."""
    settings.SPONSOR_DAILY_BUDGET = {token.chain_id: Decimal(400 * FEE - 1).scaleb(-18)}
    [finding] = check()
    assert (finding.level, "Raise it to 0.004 ETH" in finding.advice) == (Level.WARNING, True)
    settings.SPONSOR_DAILY_BUDGET = {token.chain_id: Decimal(400 * FEE).scaleb(-18)}
    assert [each.level for each in check()] == [Level.OK]


def test_unreachable_chain_is_named(token: Token) -> None:
    assert levels(check(None)) == {ACCOUNT: "failed"}


def test_invalid_key_is_named_but_not_printed(token: Token, settings: Settings) -> None:
    settings.SPONSOR_KEYS = {"evm": SPONSOR_KEY + "zz"}
    assert found(check(), Level.FAILED) == [f"{ACCOUNT}: its key is not valid"]


def test_budget_without_effect_is_named(sponsored: Chain, settings: Settings) -> None:
    assert levels(check()) == {ACCOUNT: "warning"}  # no token can be sponsored
    settings.SPONSOR_DAILY_BUDGET = {sponsored.pk: Decimal(1), 999: Decimal(1)}
    assert levels(check())["budget of 999"] == "warning"
    settings.SPONSOR_DAILY_BUDGET = {999: Decimal(1)}
    assert levels(check()) == {"budget of 999": "warning", "sponsor of evm": "warning"}
    settings.SPONSOR_KEYS, settings.SPONSOR_DAILY_BUDGET = {"evm": ""}, {sponsored.pk: Decimal(1)}
    assert levels(check()) == {f"budget of {sponsored.pk}": "warning"}


@pytest.mark.parametrize(
    ("address", "words"), [(SPONSOR, "Check the balance"), ("0x" + "33" * 20, "Its key was replaced")]
)
def test_stuck_nonce_is_named(
    token: Token, request_for: Callable[..., PaymentRequest], address: str, words: str
) -> None:
    relay = new_relay(new_authorization(request_for()), address=address)
    findings = check(now=relay.created_at + timedelta(minutes=9, seconds=5))
    [finding] = [each for each in findings if each.level is Level.FAILED]
    assert finding.subject == "relay on Local Chain"
    assert f"nonce 0 of {address} is in no block after 9 minutes" in finding.summary
    assert finding.advice.startswith(words)


def test_solana_account_has_no_nonce_to_name(
    request_for: Callable[..., PaymentRequest], settings: Settings
) -> None:
    """A Solana transaction either lands or expires, so it can't block a nonce."""
    settings.SPONSOR_KEYS, settings.SPONSOR_DAILY_BUDGET = {}, {}
    relay = new_relay(new_authorization(request_for()), created_at=timezone.now() - timedelta(minutes=9))
    Relay.objects.filter(pk=relay.pk).update(nonce=None)
    [finding] = [each for each in check() if each.level is Level.FAILED]
    assert finding.summary.startswith(f"a transaction of {SPONSOR} is in no block")


def test_solana_chain_is_checked_with_its_own_key(settings: Settings) -> None:
    chain = Chain.objects.create(id=1, name="Solana", chain_type="solana", native_symbol="SOL")
    Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6,
        contract_address="EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", authorization={"type": "solana"},
    )  # fmt: skip
    pair = Keypair()
    settings.SPONSOR_KEYS = {"evm": "", "solana": bytes(pair).hex()}
    settings.SPONSOR_DAILY_BUDGET = {1: Decimal(1)}
    [finding] = check(2 * 10**9, fee=5_000)
    assert (finding.level, finding.subject) == (Level.OK, "sponsor on Solana")
    assert finding.summary == f"{pair.pubkey()} has 2 SOL, and spends 1 SOL a day at most"
