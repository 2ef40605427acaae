"""The gas account opens a recipient's token account only once, and only a limited number per merchant."""

from typing import Any

import pytest
from django.utils import timezone
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import CloseAccountParams, TransferCheckedParams

from chains.families import get_client
from payments.models import Authorization, Payment
from payments.sponsoring import budgets
from payments.sponsoring.overview import overview
from payments.stats.fees import count_fees
from tests.support.payments.cosigning import CosigningWorld
from tests.support.solana.ledger import new_address, token_account
from tests.support.solana.signing import sign


def unavailable(world: CosigningWorld, route: str) -> bool:
    answer = world.post("build-transaction", {"route_id": route}, None)
    return (answer.status_code, answer.json()["error"]["code"]) == (409, "sponsoring_unavailable")


def test_account_of_a_new_recipient_is_opened(world: CosigningWorld) -> None:
    request = world.new_request()
    _, sponsored = world.routes(request)
    assert sponsored["fees"] == []
    payment = world.work_until_decided(world.pay(request))
    assert (payment.status, payment.amount_received) == ("completed", request.amount)
    assert world.ledger.token_balance(request.recipient_address) == request.amount
    world.work_until_idle()
    authorization = world.authorization()
    assert authorization.deposit == world.ledger.balance(str(token_account(request.recipient_address)))
    assert authorization.cost == 10_000 + (authorization.deposit or 0)


def test_account_is_opened_although_coin_was_sent_to_its_address(world: CosigningWorld) -> None:
    """Anyone can send coin to the address first. Then it has an account, but not a token account."""
    request = world.new_request()
    address = str(token_account(request.recipient_address))
    world.ledger.send(world.ledger.coin_move(address, 10**6))
    payment = world.work_until_decided(world.pay(request))
    assert (payment.status, payment.amount_received) == ("completed", request.amount)
    assert world.authorization().deposit == world.ledger.balance(address) > 10**6
    assert get_client(world.row).account_deposit(world.token.contract_address, request.recipient_address) == 0


def test_deposit_is_shown_although_coin_was_sent_to_the_address(world: CosigningWorld) -> None:
    recipient, token = new_address(), world.token.contract_address
    deposit = get_client(world.row).account_deposit(token, recipient)
    world.ledger.send(world.ledger.coin_move(str(token_account(recipient)), 10**6))
    assert get_client(world.row).account_deposit(token, recipient) == deposit > 0


def test_deposit_counts_among_the_fees_that_customers_saved(world: CosigningWorld) -> None:
    world.work_until_decided(world.pay(world.new_request()))
    world.work_until_idle()
    [fees] = [each for each in count_fees(timezone.now().date()) if each.merchant_id is None]
    cost = world.authorization().cost
    assert (fees.chain_id, fees.payments, fees.saved, fees.spent) == (world.row.pk, 1, cost, cost)
    [row] = overview(timezone.now())
    assert (row.unsent.number, row.unmined.number, row.spent) == (0, 0, cost)


def test_account_is_opened_once_even_before_it_is_there(world: CosigningWorld) -> None:
    recipient = new_address()
    first, second = world.request(recipient=recipient), world.request(recipient=recipient)
    signed = world.signed(second)
    payment = world.pay(first)
    assert unavailable(world, world.route(second))
    answer = world.submit(second, *signed, None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "sponsoring_unavailable")
    assert Payment.objects.count() == 1
    world.work_until_decided(payment)
    world.work_until_idle()
    later = world.work_until_decided(world.pay(second))
    assert (later.status, Authorization.objects.latest("pk").deposit) == ("completed", 0)


def test_transaction_that_may_not_open_an_account_is_built_again(world: CosigningWorld) -> None:
    recipient = new_address()
    first, second = world.request(recipient=recipient), world.request(recipient=recipient)
    route = world.route(second)
    world.build(route)
    payment = world.pay(first)
    assert unavailable(world, route)
    world.work_until_decided(payment)
    world.work_until_idle()
    answer = world.submit(second, route, sign(world.build(route)["transaction"], world.payer))
    later = world.work_until_decided(Payment.objects.get(pk=answer["id"]))
    assert (later.status, Authorization.objects.get(payment=later).deposit) == ("completed", 0)


def test_account_that_the_recipient_closes_is_not_opened_again(world: CosigningWorld) -> None:
    """The recipient gets the rent of a closed account. A merchant could collect the rent of one after another."""
    recipient = world.ledger.new_wallet(lamports=10**8)
    address = str(recipient.pubkey())
    request = world.request(recipient=address)
    world.work_until_decided(world.pay(request))
    account = token_account(address)
    back = spl.transfer_checked(
        TransferCheckedParams(
            program_id=TOKEN_PROGRAM_ID,
            source=account,
            mint=spl.Pubkey.from_string(world.token.contract_address),
            dest=token_account(world.payer_address),
            owner=recipient.pubkey(),
            amount=request.amount,
            decimals=6,
        )
    )
    close = spl.close_account(
        CloseAccountParams(
            program_id=TOKEN_PROGRAM_ID, account=account, dest=recipient.pubkey(), owner=recipient.pubkey()
        )
    )
    world.ledger.send([back, close], recipient)
    spent = world.spent()
    assert unavailable(world, world.route(world.request(recipient=address)))
    assert world.spent() == spent


def test_merchant_gets_only_some_accounts(world: CosigningWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "MAX_ACCOUNTS", 1)
    signed = world.signed(other := world.new_request())
    world.pay(world.new_request())
    assert unavailable(world, world.route(world.new_request()))
    answer: Any = world.submit(other, *signed, None)
    assert answer.json()["error"]["code"] == "sponsoring_unavailable"
    assert world.pay(world.request()).is_sponsored  # its recipient has an account
