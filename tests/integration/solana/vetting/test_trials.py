"""A simulation counts only if the node reports all its effects. Any other response raises an error."""

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

Result = dict[str, Any]


@pytest.fixture
def node(local_ledger: LocalLedger) -> Iterator[FaultProxy]:
    with proxying(local_ledger.url) as proxy:
        yield proxy


def prepare(node: FaultProxy, scene: Scene, *, is_whole: bool = True) -> str:
    client = SolanaClient([node.url], surfnet.CHAIN_ID, "local")
    action = whole(scene.honest(), scene.wallet) if is_whole else bare(scene.honest())
    return client.prepare(action, sender=str(scene.owner), spending=Spending(scene.ledger.usdc, PRICE))


def with_value(**changed: Any) -> Callable[[Result], Result]:
    return lambda result: {**result, "value": {**result["value"], **changed}}


def without_error(result: Result) -> Result:
    return {**result, "value": {name: field for name, field in result["value"].items() if name != "err"}}


def one_account_less(result: Result) -> Result:
    return {**result, "value": {**result["value"], "accounts": result["value"]["accounts"][:-1]}}


@pytest.mark.parametrize(
    "change",
    [
        with_value(accounts=None),
        with_value(accounts=[{}] * 3),
        with_value(unitsConsumed=-1),
        one_account_less,
        without_error,
        lambda _: {"value": None},
        lambda _: "fine",
    ],
)
def test_incomplete_simulation_raises_chain_error(
    node: FaultProxy, scene: Scene, change: Callable[[Result], Result]
) -> None:
    node.break_with(forged("simulateTransaction", change))
    with pytest.raises(ChainError):
        prepare(node, scene)
    node.heal()
    assert prepare(node, scene)


def test_node_without_simulation_raises_chain_error(node: FaultProxy, scene: Scene) -> None:
    node.break_with(lacking("simulateTransaction"))
    for is_whole in (True, False):
        with pytest.raises(ChainError):
            prepare(node, scene, is_whole=is_whole)


@pytest.mark.parametrize(
    "change",
    [lambda result: {**result, "value": result["value"][:-1]}, lambda _: {"value": None}],
)
def test_missing_accounts_before_simulation_raise_error(
    node: FaultProxy, scene: Scene, change: Callable[[Result], Result]
) -> None:
    node.break_with(forged("getMultipleAccounts", change))
    with pytest.raises(ChainError):
        prepare(node, scene)


def test_unknown_units_count_as_the_maximum(node: FaultProxy, scene: Scene) -> None:
    node.break_with(forged("simulateTransaction", with_value(unitsConsumed=None)))
    built = prepare(node, scene, is_whole=False)
    signature = scene.ledger.sign_and_send(built, scene.wallet)
    assert scene.ledger.rpc("getSignatureStatuses", [signature])["value"][0]["err"] is None


@pytest.mark.parametrize(("is_whole", "most"), [(True, 3), (False, 4)])
def test_preparing_takes_three_or_four_round_trips(
    node: FaultProxy, scene: Scene, is_whole: bool, most: int
) -> None:
    client = SolanaClient([node.url], surfnet.CHAIN_ID, "local")
    client.chain_id()
    before = node.round_trips
    action = whole(scene.honest(), scene.wallet) if is_whole else bare(scene.honest())
    client.prepare(action, sender=str(scene.owner), spending=Spending(scene.ledger.usdc, PRICE))
    assert node.round_trips - before == most
