"""`manage.py build_sweep` sweeps the balances of one merchant's addresses, each asset once, in batches."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from chains.client import ChainError
from chains.families.evm.deposits.addresses import FACTORY
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.deposits.sweeping import MAX_SWEEPS, plan_sweeps
from payments.management.commands import build_sweep
from payments.models import DepositAddress, PaymentRequest
from tests.support.payments.sweeps import Holdings, row, rows, shown

pytestmark = pytest.mark.django_db
Make = Callable[..., PaymentRequest]


def test_held_tokens_and_coins_are_each_swept_once(request_for: Make, ether: Token) -> None:
    first, second, empty = request_for(), request_for(), request_for()
    usdc = first.token.contract_address
    at_first, at_second = shown(first), shown(second)
    shown(empty)
    chain = Holdings({(at_first, usdc): 5, (at_second, usdc): 7, (at_second, ""): 9})
    plan = plan_sweeps(first.merchant, first.chain, client=chain.of)
    [call] = plan.calls
    assert (call.to, call.value) == (FACTORY, 0)
    assert sorted(rows(call.data)) == sorted([row(first, usdc), row(second, usdc), row(second, "")])
    assert [(each.token, each.amount, each.addresses, each.is_requested) for each in plan.waiting] == [
        (first.token, 12, 2, True),
        (ether, 9, 1, False),
    ]


def test_range_of_the_newest_addresses_is_planned(request_for: Make) -> None:
    requests = [request_for() for _ in range(3)]
    usdc = requests[0].token.contract_address
    chain = Holdings({(shown(each), usdc): 5 for each in requests})
    merchant, on = requests[0].merchant, requests[0].chain
    parts = [plan_sweeps(merchant, on, client=chain.of, newest=part) for part in (slice(2), slice(2, 4))]
    found = [rows(call.data) for plan in parts for call in plan.calls]
    assert found == [[row(requests[2], usdc), row(requests[1], usdc)], [row(requests[0], usdc)]]


def test_other_merchants_addresses_are_not_swept(request_for: Make) -> None:
    request = request_for()
    chain = Holdings({(shown(request), request.token.contract_address): 5})
    other = Merchant.objects.create(name="Other shop")
    assert plan_sweeps(other, request.chain, client=chain.of).calls == ()
    assert len(plan_sweeps(request.merchant, request.chain, client=chain.of).calls) == 1


def test_many_sweeps_are_split_into_batches(request_for: Make) -> None:
    requests = [request_for() for _ in range(MAX_SWEEPS + 1)]
    usdc = requests[0].token.contract_address
    chain = Holdings({(shown(each), usdc): 5 for each in requests})
    plan = plan_sweeps(requests[0].merchant, requests[0].chain, client=chain.of)
    found = [rows(call.data) for call in plan.calls]
    assert [len(each) for each in found] == [MAX_SWEEPS, 1]
    assert {each for some in found for each in some} == {row(each, usdc) for each in requests}


def test_token_switched_off_is_still_swept(request_for: Make) -> None:
    request = request_for()
    chain = Holdings({(shown(request), request.token.contract_address): 5})
    Token.objects.filter(pk=request.token_id).update(is_active=False)
    assert len(plan_sweeps(request.merchant, request.chain, client=chain.of).calls) == 1


def test_address_of_other_contracts_is_named_instead(request_for: Make) -> None:
    request = request_for()
    shown(request)
    older = "0x00000000000000000000000000000000000000De"
    DepositAddress.objects.update(address=older)
    plan = plan_sweeps(request.merchant, request.chain, client=Holdings().of)
    assert (plan.calls, plan.older) == ((), (older,))


def test_chain_without_deposit_addresses_is_rejected(request_for: Make) -> None:
    request = request_for()
    Chain.objects.filter(pk=request.chain_id).update(chain_type="solana")
    request.chain.refresh_from_db()
    with pytest.raises(LookupError, match="chains of this kind have no deposit addresses"):
        plan_sweeps(request.merchant, request.chain, client=Holdings().of)


def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], chain: Holdings, *arguments: str
) -> tuple[Any, str]:
    monkeypatch.setattr(
        build_sweep, "plan_sweeps", lambda merchant, on: plan_sweeps(merchant, on, client=chain.of)
    )
    call_command("build_sweep", *arguments)
    out, notes = capsys.readouterr()
    return json.loads(out), notes


def test_command_prints_transactions_and_what_waits(
    request_for: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request = request_for()
    chain = Holdings({(shown(request), request.token.contract_address): 12_500_000})
    arguments = (str(request.merchant_id), "--chain", str(request.chain_id))
    [transaction], notes = command(monkeypatch, capsys, chain, *arguments)
    assert (transaction["to"], transaction["value"]) == (FACTORY, "0x0")
    assert rows(bytes.fromhex(transaction["data"][2:])) == [row(request, request.token.contract_address)]
    assert f"12.50 {request.token.symbol} at 1 address\n" in notes


def test_command_notes_what_is_not_credited(
    request_for: Make, ether: Token, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request = request_for()
    usdc = request.token.contract_address
    chain = Holdings({(shown(request), ""): 10**18}, silent=frozenset({usdc}))
    _, notes = command(monkeypatch, capsys, chain, str(request.merchant_id), "--chain", str(request.chain_id))
    assert "1 ETH at 1 address, not requested there and not credited\n" in notes
    assert "USDC: its contract does not return the balance of every address\n" in notes


def test_command_prints_an_empty_list_if_nothing_waits(
    request_for: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request = request_for()
    arguments = (str(request.merchant_id), "--chain", str(request.chain_id))
    assert command(monkeypatch, capsys, Holdings(), *arguments) == ([], "")


@pytest.mark.parametrize(
    ("shop", "chain_id", "message"),
    [
        ("Nobody", None, "no merchant with the id or name 'Nobody'"),
        (None, "99999999", "Chain 99999999 is not in the catalogue"),
        (None, None, "no node responded"),
    ],
)
def test_command_rejects_what_it_does_not_find(
    request_for: Make,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shop: str | None,
    chain_id: str | None,
    message: str,
) -> None:
    request = request_for()
    shown(request)
    nodes = Holdings(error=ChainError("no node responded"))
    arguments = (shop or str(request.merchant_id), "--chain", chain_id or str(request.chain_id))
    with pytest.raises(CommandError, match=message):
        command(monkeypatch, capsys, nodes, *arguments)
    assert capsys.readouterr().out == ""
