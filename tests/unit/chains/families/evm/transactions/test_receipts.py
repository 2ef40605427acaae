"""Only a Transfer log with the exact shape counts. Its reference is directly after the call's arguments."""

from typing import Any

import pytest

from chains.client import ChainError, Transfer
from chains.families.evm.transactions import transfers

REFERENCE = bytes(range(16))


def reference_of(transfer: Transfer) -> bytes | None:
    """Return the transfer's reference. On EVM, a transfer can have one at most."""
    assert len(transfer.references) <= 1
    return next(iter(transfer.references), None)


def word(number: int) -> str:
    return hex(number)[2:].rjust(64, "0")


TOKEN, PAYER, RECIPIENT = "0x" + "11" * 20, "0x" + "22" * 20, "0x" + "33" * 20
TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def log(**different: Any) -> dict[str, Any]:
    topics = [TOPIC, "0x" + word(int(PAYER, 16)), "0x" + word(int(RECIPIENT, 16))]
    return {"address": TOKEN, "topics": topics, "data": "0x" + word(7), "logIndex": "0x0", **different}


def read(*logs: Any, **transaction: Any) -> tuple[Transfer, ...]:
    data = "0xa9059cbb" + word(int(RECIPIENT, 16)) + word(7) + REFERENCE.hex()
    sent = {"from": PAYER, "to": TOKEN, "value": "0x0", "input": data, **transaction}
    return transfers.transfers(sent, {"logs": list(logs)})


def test_log_of_the_right_shape_is_a_transfer() -> None:
    [transfer] = read(log())
    assert (transfer.slot, transfer.amount, reference_of(transfer)) == ("0", 7, REFERENCE)


def test_transfer_keeps_its_slot_after_a_reorganisation() -> None:
    """A log's index in its block depends on other transactions.

    With the index as slot, a transfer could be credited twice.
    """
    before, after = ([log(logIndex=hex(index)), log(logIndex=hex(index + 1))] for index in (0, 40))
    assert [transfer.slot for transfer in read(*before)] == [transfer.slot for transfer in read(*after)]


TOPICS = log()["topics"]


@pytest.mark.parametrize(
    "different",
    [
        {"topics": []},
        {"topics": TOPICS[:1]},
        {"topics": TOPICS[:2]},
        {"topics": [*TOPICS, "0x" + word(1)]},  # ERC-721 indexes the token's id
        {"topics": ["0x" + "00" * 32, *TOPICS[1:]]},
        {
            "topics": ["0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925", *TOPICS[1:]]
        },  # Approval
        {"topics": [TOPICS[0], TOPICS[1], "0x01" + TOPICS[2][4:]]},  # longer than an address
        {"topics": [TOPICS[0], "0x" + "ff" * 32, TOPICS[2]]},
        {"topics": [TOPICS[0], TOPICS[1][:-2], TOPICS[2]]},
        {"data": "0x"},
        {"data": "0x" + word(7)[:-2]},
        {"data": "0x" + word(7) * 2},
        {"data": "0x" + word(7) + "00"},
    ],
    ids=range(13),
)
def test_log_of_another_shape_is_skipped_and_spoils_nothing(different: dict[str, Any]) -> None:
    assert [transfer.slot for transfer in read(log(**different), log(logIndex="0x5"))] == ["1"], (
        "its place in its own receipt, whatever its index in the block"
    )


@pytest.mark.parametrize(
    "transaction",
    [
        {"to": "0x" + "44" * 20},  # calls another contract
        {"to": None},  # creates a contract
        {"input": "0x"},
        {"input": "0x" + REFERENCE.hex()},
        {"input": "0x095ea7b3" + word(int(RECIPIENT, 16)) + word(7) + REFERENCE.hex()},  # approve
        {"input": "0xa9059cbb" + word(int(PAYER, 16)) + word(7) + REFERENCE.hex()},  # pays another address
        {"input": "0xa9059cbb" + "01" + word(int(RECIPIENT, 16))[2:] + word(7) + REFERENCE.hex()},
        {"input": "0xa9059cbb" + word(int(RECIPIENT, 16)) + word(7) + REFERENCE.hex()[:-2]},
    ],
    ids=range(8),
)
def test_bytes_in_another_place_are_no_reference(transaction: dict[str, Any]) -> None:
    [transfer] = read(log(), **transaction)
    assert reference_of(transfer) is None


def test_transfer_from_has_its_reference_after_three_words() -> None:
    data = "0x23b872dd" + word(int(PAYER, 16)) + word(int(RECIPIENT, 16)) + word(7) + REFERENCE.hex()
    [transfer] = read(log(), input=data)
    assert reference_of(transfer) == REFERENCE


@pytest.mark.parametrize(
    "broken",
    [
        None, 7, "log", [], {}, log(topics=None), log(topics="0x"), log(topics=[None]),
        log(topics=["0xzz"]), log(data=None),
        log(data="0x1"), log(data="zz"), log(address=None), log(address="0x11"),
        log(address="0x" + "11" * 32),
    ],
    ids=range(15),
)  # fmt: skip
def test_malformed_log_raises_chain_error(broken: Any) -> None:
    with pytest.raises(ChainError):
        read(log(), broken)


@pytest.mark.parametrize(
    "transaction", [{"to": "0x12"}, {"to": 7}, {"value": None}, {"value": "7"}, {"input": None, "to": TOKEN}]
)
def test_malformed_transaction_raises_chain_error(transaction: dict[str, Any]) -> None:
    with pytest.raises(ChainError):
        read(log(), **transaction)
