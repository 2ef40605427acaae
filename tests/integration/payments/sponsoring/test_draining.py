"""Payers, merchants and nodes try to make the gas account pay for nothing. Each test measures the cost."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from eth_account import Account

from demo.contracts import deploy
from payments.models import Authorization, Payment, Relay
from payments.sponsoring import passes, terms
from tests.conftest import Api
from tests.support.payments.sponsoring import SponsoringWorld
from tests.threads import at_once


def test_one_balance_pays_for_one_signature_at_a_time(world: SponsoringWorld) -> None:
    """Signatures cost nothing. Without this limit, all relays but one would revert at the sponsor's cost."""
    everything = world.chain.token_balance(world.token.contract_address, world.payer.address)
    first, second = (world.request(str(everything // 10**6)) for _ in range(2))
    signed = [(each, *world.signed(each)) for each in (first, second)]
    payment = Payment.objects.get(pk=world.submit(*signed[0])["id"])
    answer = world.submit(*signed[1], None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "insufficient_funds")
    assert Payment.objects.count() == 1
    world.work_until_decided(payment)
    assert payment.status == "completed"


@pytest.mark.django_db(transaction=True)
def test_signatures_submitted_at_once_share_one_balance(world: SponsoringWorld) -> None:
    """Each signature passes the simulation, because none of the other transfers is mined yet."""
    everything = world.chain.token_balance(world.token.contract_address, world.payer.address) // 10**6
    requests = [world.request(str(everything // 2)) for _ in range(6)]
    jobs = [
        partial(replace(world, public=Api()).submit, each, *world.signed(each), None) for each in requests
    ]
    answers = at_once(jobs)
    assert sorted(each.status_code for each in answers) == [201, 201, 409, 409, 409, 409]
    assert {each.json()["error"]["code"] for each in answers if each.status_code == 409} == {
        "insufficient_funds"
    }
    assert Payment.objects.count() == 2


def test_mined_payment_leaves_the_balance_free(own_world: SponsoringWorld) -> None:
    """A mined relay has already reduced the balance. It must not be counted again until its block is deep."""
    world = own_world
    type(world.row).objects.update(confirmations="30")
    everything = world.chain.token_balance(world.token.contract_address, world.payer.address) // 10**6
    first, second = world.request(str(everything - 10)), world.request("10")
    payment = world.pay(first)
    world.work()
    world.work()
    payment.refresh_from_db()
    assert payment.status == "processing"
    payments = payment, world.pay(second)
    world.work()
    world.chain.mine(30)
    assert {world.work_until_decided(each).status for each in payments} == {"completed"}


def test_dead_signature_pays_no_tip_beyond_its_reservation(own_world: SponsoringWorld) -> None:
    """A node hides our transactions, so we raise their fees.

    It could sell the most expensive one to a block producer.
    """
    world = own_world
    payment = world.pay(world.request())
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    reserved = Authorization.objects.get().cost or 0
    Authorization.objects.update(ended_at=payment.created_at)  # as if the signature had expired
    for _ in range(40):
        world.work(31)
    relay = Relay.objects.get()
    most = int(relay.unsigned["gas"], 16) * int(relay.unsigned["maxFeePerGas"], 16)
    assert len(relay.hashes) > 1
    assert most <= (Authorization.objects.get().cost or 0)
    assert most <= reserved


def test_transaction_above_the_price_is_not_raised(own_world: SponsoringWorld) -> None:
    """If a chain produces no blocks for an hour, higher fees don't help."""
    world = own_world
    world.pay(world.request())
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    first = Relay.objects.get().unsigned
    for _ in range(40):
        world.work(31)
    last = Relay.objects.get().unsigned
    for name in ("maxFeePerGas", "maxPriorityFeePerGas"):
        assert int(first[name], 16) < int(last[name], 16) < 4 * int(first[name], 16)


# --- accounts with code (EIP-7702) ------------------------------------------------------------------------------------

_MAGIC = "631626ba7e60e01b60005260206000f3"


def delegate(world: SponsoringWorld, flag: str) -> str:
    """Return a delegate that confirms every signature.

    Once the address `flag` has coins, it uses all gas in a loop.
    """
    address = Account.create().address
    world.chain.rpc("anvil_setCode", address, f"0x73{flag[2:]}31602957{_MAGIC}5b602956")
    return str(address)


def delegated(world: SponsoringWorld, to: str, units: int = 10 * 10**6) -> tuple[Any, int]:
    """Return a new payer with tokens, who delegates to this code, and the gas that the setup took."""
    payer = Account.create()
    authorization = payer.sign_authorization({"chainId": world.row.pk, "address": to, "nonce": 0})
    transaction = {
        "chainId": world.row.pk, "to": payer.address, "value": 0, "data": "0x", "gas": 200_000,
        "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9,
        "authorizationList": [authorization],
    }  # fmt: skip
    receipts = [world.chain.send(transaction)]
    deploy.mint(world.chain.url, world.token.contract_address, world.chain.payer, units)
    receipts.append(world.chain.transfer(world.token.contract_address, payer.address, units))
    gas = [world.chain.rpc("eth_getTransactionReceipt", each)["gasUsed"] for each in receipts]
    return payer, sum(int(each, 16) for each in gas)


def gas_of_relays(world: SponsoringWorld) -> list[int]:
    receipts = [world.chain.rpc("eth_getTransactionReceipt", each.hashes[0]) for each in Relay.objects.all()]
    return [int(each["gasUsed"], 16) for each in receipts]


def test_code_that_burns_gas_bars_its_payer_before_finality(own_world: SponsoringWorld) -> None:
    """The simulation accepts the signatures. Then one transfer of coin makes each of them burn all gas."""
    world = own_world
    type(world.row).objects.update(confirmations="20")
    world.chain.mine(20)
    flag = Account.create().address
    payer, their_gas = delegated(world, delegate(world, flag))
    for _ in range(6):
        world.submit(request := world.request("1"), *world.signed(request, payer))
    world.chain.rpc("evm_setAutomine", False)
    for _ in range(4):
        world.work(5)
        world.chain.rpc("anvil_setBalance", flag, "0x1")
        world.chain.mine()
    gas = gas_of_relays(world)
    assert len(gas) == passes.MAX_WAITING_OF_PAYER
    # Measured gas: 86,000 for the delegation and the tokens, 113,000 for each relay.
    assert their_gas > 80_000
    assert max(gas) < 120_000 < terms.MAX_GAS
    assert [each["sponsored"] for each in world.routes(world.request(), payer)] == [False]
    assert len(world.routes(world.request())) == 2


def test_code_that_takes_too_much_gas_is_not_relayed(own_world: SponsoringWorld) -> None:
    """Confirming a signature takes 104,000 gas. With the margin, the gas limit would exceed the maximum."""
    world = own_world
    address = str(Account.create().address)
    world.chain.rpc("anvil_setCode", address, f"0x610fa05b600190038060035750{_MAGIC}")  # 4,000 rounds
    payer, _ = delegated(world, address)
    request = world.request()
    answer = world.submit(request, *world.signed(request, payer), None)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "sponsoring_unavailable")
    assert not Payment.objects.exists()


def test_payer_who_empties_the_account_fails_few_relays(own_world: SponsoringWorld) -> None:
    """One transaction of the payer makes all relays for it in the same block fail."""
    world = own_world
    type(world.row).objects.update(confirmations="20")
    world.chain.mine(20)
    for _ in range(8):
        world.pay(world.request("1"))
    other = Account.create()
    deploy.mint(world.chain.url, world.token.contract_address, other.address, 10 * 10**6)
    world.submit(request := world.request(), *world.signed(request, other))
    world.chain.rpc("evm_setAutomine", False)
    world.work()
    assert Relay.objects.count() == passes.MAX_WAITING_OF_PAYER + 1, "the other payer has a place too"
    world.chain.rpc("anvil_setBalance", world.payer.address, hex(10**18))
    everything = world.chain.token_balance(world.token.contract_address, world.payer.address)
    emptying = world.chain.unsigned_transfer(world.token.contract_address, other.address, everything)
    key = "0x" + bytes(world.payer.key).hex()
    sent = world.chain.send({**emptying, "maxFeePerGas": 10**12, "maxPriorityFeePerGas": 10**11}, key)
    world.chain.mine()
    for _ in range(3):
        world.work(5)
        world.chain.mine()
    gas = sorted(gas_of_relays(world))
    theirs = int(world.chain.rpc("eth_getTransactionReceipt", sent)["gasUsed"], 16)
    # Measured gas: 30,000 for the payer's transfer, 61,000 for each failed relay, 88,000 for the successful
    # one.
    assert len(gas) == passes.MAX_WAITING_OF_PAYER + 1
    assert max(gas[:-1]) < 65_000 < gas[-1]
    assert theirs < 35_000
