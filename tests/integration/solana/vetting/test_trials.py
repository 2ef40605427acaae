"""A trial counts only where the node shows all of what it did; whatever else it answers lets nothing pass."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chains.client import ChainError, Spending
from chains.families.solana.client import SolanaClient
from demo.services import surfnet
from tests.fault_proxy import FaultProxy, forged, lacking, proxying
from tests.support.solana.actions import bare, whole
from tests.support.solana.ledger import LocalLedger
from tests.support.solana.scene import PRICE, Scene

Answer = dict[str, Any]


@pytest.fixture
def node(local_ledger: LocalLedger) -> Iterator[FaultProxy]:
    with proxying(local_ledger.url) as proxy:
        yield proxy


def prepare(node: FaultProxy, scene: Scene, *, is_whole: bool = True) -> str:
    client = SolanaClient([node.url], surfnet.CHAIN_ID, "local")
    action = whole(scene.honest(), scene.wallet) if is_whole else bare(scene.honest())
    return client.prepare(action, sender=str(scene.owner), spending=Spending(scene.ledger.usdc, PRICE))


def with_value(**changed: Any) -> Callable[[Answer], Answer]:
    return lambda answer: {**answer, "value": {**answer["value"], **changed}}


def without_error(answer: Answer) -> Answer:
    return {**answer, "value": {name: told for name, told in answer["value"].items() if name != "err"}}


def one_account_less(answer: Answer) -> Answer:
    return {**answer, "value": {**answer["value"], "accounts": answer["value"]["accounts"][:-1]}}


@pytest.mark.parametrize(
    "change",
    [
        with_value(accounts=None),
        with_value(accounts=[]),
        with_value(accounts={}),
        with_value(accounts=["x"] * 3),
        with_value(accounts=[{}] * 3),
        with_value(unitsConsumed="many"),
        with_value(unitsConsumed=-1),
        one_account_less,
        without_error,
        lambda _: {"value": None},
        lambda _: "fine",
    ],
)
def test_an_answer_that_does_not_show_it_all_is_none(
    node: FaultProxy, scene: Scene, change: Callable[[Answer], Answer]
) -> None:
    node.break_with(forged("simulateTransaction", change))
    with pytest.raises(ChainError):
        prepare(node, scene)
    node.heal()
    assert prepare(node, scene)


def test_a_node_that_cannot_simulate_is_no_node_to_ask(node: FaultProxy, scene: Scene) -> None:
    node.break_with(lacking("simulateTransaction"))
    for is_whole in (True, False):
        with pytest.raises(ChainError):
            prepare(node, scene, is_whole=is_whole)


@pytest.mark.parametrize(
    "change",
    [lambda answer: {**answer, "value": answer["value"][:-1]}, lambda _: {"value": None}, lambda _: "fine"],
)
def test_accounts_that_are_not_told_before_the_trial_are_no_accounts(
    node: FaultProxy, scene: Scene, change: Callable[[Answer], Answer]
) -> None:
    node.break_with(forged("getMultipleAccounts", change))
    with pytest.raises(ChainError):
        prepare(node, scene)


def test_units_that_are_not_told_are_taken_for_the_most_there_can_be(node: FaultProxy, scene: Scene) -> None:
    node.break_with(forged("simulateTransaction", with_value(unitsConsumed=None)))
    built = prepare(node, scene, is_whole=False)
    signature = scene.ledger.sign_and_send(built, scene.wallet)
    assert scene.ledger.rpc("getSignatureStatuses", [signature])["value"][0]["err"] is None


@pytest.mark.parametrize(("is_whole", "most"), [(True, 3), (False, 4)])
def test_it_takes_few_round_trips(node: FaultProxy, scene: Scene, is_whole: bool, most: int) -> None:
    client = SolanaClient([node.url], surfnet.CHAIN_ID, "local")
    client.chain_id()
    before = node.round_trips
    action = whole(scene.honest(), scene.wallet) if is_whole else bare(scene.honest())
    client.prepare(action, sender=str(scene.owner), spending=Spending(scene.ledger.usdc, PRICE))
    assert node.round_trips - before == most
