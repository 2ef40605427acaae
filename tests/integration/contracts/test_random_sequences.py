"""Random sends and sweeps by strangers: everything received is at the recipient or waits at the address."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chains.families.base import Deposit, Sweep
from chains.families.evm.deposits.addresses import FACTORY
from chains.families.evm.deposits.calls import sweep_call
from tests.chain import LocalChain
from tests.support.chains.deposits import (
    BURN_GAS,
    CALL_BACK,
    NONE,
    RETURN_LARGE,
    REVERT,
    REVERT_LARGE,
    DepositWorld,
    deposit_for,
    forwarder_sweep,
    new_address,
    swept_coins,
)

ASSETS = st.integers(0, 3)
SEND = st.tuples(st.just("send"), st.integers(0, 2), ASSETS, st.integers(1, 10**9))
BATCH = st.tuples(st.just("batch"), st.lists(st.tuples(st.integers(0, 2), ASSETS), min_size=1, max_size=4))
WRONG = st.tuples(st.just("wrong"), st.integers(0, 2), ASSETS)
DIRECT = st.tuples(st.just("direct"), st.integers(0, 2), ASSETS)
TROUBLE = st.tuples(
    st.just("trouble"),
    st.booleans(),
    st.sampled_from([NONE, REVERT, REVERT_LARGE, RETURN_LARGE, BURN_GAS, CALL_BACK]),
)
STEPS = st.lists(st.one_of(SEND, SEND, BATCH, WRONG, DIRECT, TROUBLE), min_size=4, max_size=14)


class Ledger:
    """Three deposit addresses (one with a contract as recipient), four assets, and a record of all transfers."""

    def __init__(self, world: DepositWorld) -> None:
        self.world = world
        self.odd_recipient = world.place("TroublesomeRecipient")
        self.odd_token = world.place("TroublesomeToken", token=True)
        self.assets = ["", world.chain.usdc, world.place("TetherLike", token=True), self.odd_token]
        recipient = new_address()
        self.recipients = [recipient, recipient, self.odd_recipient]
        self.deposits: list[Deposit] = [deposit_for(each) for each in self.recipients]
        # The reentrant call sweeps all assets of all addresses with the factory.
        sweeps = [
            Sweep(recipient, deposit.salt, token)
            for recipient, deposit in zip(self.recipients, self.deposits, strict=True)
            for token in self.assets
        ]
        self.everything = sweep_call(sweeps, gas_per_sweep=60_000).data
        self.received: Counter[tuple[int, int]] = Counter()
        self.receipts: list[dict[str, object]] = []

    def do(self, step: tuple[object, ...]) -> None:
        match step:
            case ("send", int(place), int(asset), int(units)):
                self.send(place, asset, units)
            case ("batch", list(rows)):
                self.receipts.append(
                    self.world.sweep(
                        *((self.recipients[at], self.deposits[at], self.assets[asset]) for at, asset in rows),
                        gas_per_sweep=1_500_000,
                    )
                )
            case ("wrong", int(place), int(asset)):
                self.world.sweep((self.world.stranger, self.deposits[place], self.assets[asset]))
            case ("direct", int(place), int(asset)):
                data = forwarder_sweep(self.assets[asset])
                self.receipts.append(self.world.call(self.deposits[place].address, data))
            case ("trouble", bool(by_token), int(kind)):
                contract = self.odd_token if by_token else self.odd_recipient
                self.world.make_trouble(contract, kind, FACTORY, self.everything)

    def send(self, place: int, asset: int, units: int) -> None:
        address = self.deposits[place].address
        if asset == 0:
            self.world.pay(address, units)
        else:
            self.world.mint(self.assets[asset], address, units)
        self.received[place, asset] += units

    def check(self) -> None:
        for asset, token in enumerate(self.assets):
            for recipient in set(self.recipients):
                places = [place for place in range(3) if self.recipients[place] == recipient]
                waiting = sum(self.world.balance(token, self.deposits[place].address) for place in places)
                swept = self.world.balance(token, recipient)
                assert swept + waiting == sum(self.received[place, asset] for place in places)
        for place, deposit in enumerate(self.deposits):
            swept = swept_coins(self.receipts, deposit.address)
            assert swept + self.world.coins(deposit.address) == self.received[place, 0]


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS)
def test_received_is_swept_or_waiting_after_any_steps(
    local_chain: LocalChain, steps: list[tuple[object, ...]]
) -> None:
    world = DepositWorld(local_chain)
    world.prepare()
    ledger = Ledger(world)
    for step in steps:
        ledger.do(step)
        ledger.check()
