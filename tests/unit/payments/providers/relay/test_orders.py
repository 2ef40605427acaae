"""The id of a Relay order is a hash of all its fields."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from payments.providers.base import ProviderDown
from payments.providers.relay.orders import SOLVERS, OrderUnknown, bytes_of, read_order
from tests.support.routing.offers import MERCHANT, PAYER, USDC_HERE, USDC_THERE, WANTED
from tests.support.routing.relay_ids import VECTORS
from tests.support.routing.relay_world import AMOUNT_IN, AMOUNT_OUT, NOW, order_data


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["source"])
def test_the_id_is_the_one_that_relay_itself_gives(vector: dict[str, Any]) -> None:
    assert "0x" + read_order(vector["order"]).id.hex() == vector["id"]


def test_an_order_says_who_pays_what_and_who_gets_what_for_it() -> None:
    order = read_order(order_data(WANTED))
    assert order.solver in SOLVERS
    assert (order.source_chain, order.source_currency) == ("arbitrum", bytes_of(USDC_HERE))
    assert order.source_amount == AMOUNT_IN
    assert (order.target_chain, order.target_currency) == ("base", bytes_of(USDC_THERE))
    assert (order.recipient, order.minimum) == (bytes_of(MERCHANT), AMOUNT_OUT)
    assert order.refunded == {bytes_of(PAYER), bytes_of(MERCHANT)}
    assert (order.deadline, order.calls_out) == (NOW + 86_400, 0)


def test_an_order_of_the_second_version_says_the_same_things() -> None:
    order = read_order(VECTORS[1]["order"])
    merchant = bytes_of("0x8B5E4dB198FfC7f69f8F11F6592f682717dF1D92")
    assert order.solver == "0xfd073a9ccb34f8a13c466eb16dff990d6178a5ef"
    assert (order.source_chain, order.source_amount) == ("solana", 100_000_000)
    assert (order.target_chain, order.recipient, order.minimum) == ("base", merchant, 25 * 10**15)
    assert order.refunded == {bytes_of("7EaP2zkxDLo86x4rnNwwLhB593PsbMva41dqfrfxhsb1"), merchant}
    assert (order.deadline, order.calls_out) == (1774878936, 1)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _paths(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, (*path, index))
    elif path != ("version",):
        yield path


def _with(order: Any, path: tuple[str | int, ...], new: Any) -> Any:
    changed = copy.deepcopy(order)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return changed


def _other(value: Any) -> Any:
    if isinstance(value, int):
        return value + 1
    if value.startswith("0x"):
        return "0x" + "ab" * max(len(value) // 2 - 1, 1)
    return str(int(value) + 1) if value.isdecimal() else "8opHzTAnfzRpPEx21XtnrVTX28YQuCpAjcn1PczScKh"


@pytest.mark.parametrize(
    ("index", "path"),
    [(index, path) for index in (0, 1) for path in _paths(VECTORS[index]["order"])],
    ids=str,
)
def test_whatever_is_changed_in_an_order_gives_it_another_id(index: int, path: tuple[str | int, ...]) -> None:
    order = VECTORS[index]["order"]
    inner = order
    for step in path:
        inner = inner[step]
    changed = _with(order, path, _other(inner))
    assert read_order(changed).id != read_order(order).id


@pytest.mark.parametrize("junk", [None, 7, [], {}, "0xzz", "0x1", "", "-1", 1.5, True, 2**256, "9" * 100])
@pytest.mark.parametrize(
    "path",
    [
        ("version",),
        ("inputs",),
        ("inputs", 0, "payment", "amount"),
        ("inputs", 0, "refunds", 0, "deadline"),
        ("output", "payments", 0, "recipient"),
        ("output", "payments", 0, "minimumAmount"),
        ("solver",),
        ("salt",),
    ],
    ids=lambda path: ".".join(map(str, path)),
)
def test_order_without_sense_is_invalid(path: tuple[str | int, ...], junk: Any) -> None:
    order = order_data(WANTED)
    try:
        read = read_order(_with(order, path, junk))
    except (ProviderDown, OrderUnknown):
        return
    # If the changed bytes can still be read as an order, it is another order.
    assert read.id != read_order(order).id


@pytest.mark.parametrize("vector", VECTORS[2:], ids=lambda vector: vector["source"])
def test_solver_of_relays_recorded_orders_is_pinned(vector: dict[str, Any]) -> None:
    assert read_order(vector["order"]).solver in SOLVERS


@pytest.mark.parametrize("version", ["v3", "V1", "v1 "])
def test_an_order_of_an_unknown_version_is_not_guessed_at(version: str) -> None:
    with pytest.raises(OrderUnknown):
        read_order(order_data(WANTED) | {"version": version})


def test_an_order_of_several_payments_is_not_ours() -> None:
    order = order_data(WANTED)
    twice = _with(order, ("inputs",), order["inputs"] * 2)
    with pytest.raises(OrderUnknown):
        read_order(twice)
    shared = _with(order, ("output", "payments"), order["output"]["payments"] * 2)
    with pytest.raises(OrderUnknown):
        read_order(shared)
    with pytest.raises(OrderUnknown):
        read_order(_with(order, ("output", "payments"), []))


@pytest.mark.parametrize(
    "written", ["0xabc", "abc", "0OIl" * 10, "1" * 31, None, 5, b"\x00", "0x" + "00" * 20_000]
)
def test_bytes_neither_hex_nor_base58_are_invalid(written: Any) -> None:
    with pytest.raises(ProviderDown):
        bytes_of(written)
