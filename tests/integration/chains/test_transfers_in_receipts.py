"""What counts as money that moved is the token's own Transfer log, of exactly the right shape, or the native value."""

from typing import Any

import pytest

from chains.client import ChainError, Transfer
from chains.families.evm.client import EvmClient
from chains.families.evm.transactions import transfers
from tests.chain import LocalChain
from tests.support.chains.mining import mined

REFERENCE = bytes(range(16))


def transfers_of(client: EvmClient, chain: LocalChain, transaction_hash: str) -> tuple[Transfer, ...]:
    mined(chain, transaction_hash)
    facts = client.look_up([transaction_hash], with_finality=False).transactions[transaction_hash]
    assert facts is not None
    assert facts.succeeded
    return facts.transfers


def reference_of(transfer: Transfer) -> bytes | None:
    """Return the one reference that a transfer on EVM can carry."""
    assert len(transfer.references) <= 1
    return next(iter(transfer.references), None)


def test_a_token_transfer_with_its_reference(local_chain: LocalChain, client: EvmClient) -> None:
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 5_000_000, tail=REFERENCE)
    [transfer] = transfers_of(client, local_chain, sent)
    assert (transfer.slot, transfer.token, transfer.amount) == ("0", local_chain.usdc, 5_000_000)
    assert (transfer.sender, transfer.recipient) == (local_chain.payer, local_chain.recipient)
    assert reference_of(transfer) == REFERENCE


def test_native_coin_with_its_reference(local_chain: LocalChain, client: EvmClient) -> None:
    sent = local_chain.transfer("", local_chain.recipient, 2**65, tail=REFERENCE)
    [transfer] = transfers_of(client, local_chain, sent)
    assert (transfer.slot, transfer.token, transfer.amount) == ("value", "", 2**65)
    assert (transfer.sender, transfer.recipient) == (local_chain.payer, local_chain.recipient)
    assert reference_of(transfer) == REFERENCE


@pytest.mark.parametrize(
    ("tail", "reference"),
    [(b"", None), (b"r" * 15, None), (REFERENCE, REFERENCE), (REFERENCE + b"wallet suffix", REFERENCE)],
)
@pytest.mark.parametrize("kind", ["token", "native"])
def test_the_reference_is_the_sixteen_bytes_directly_after_the_arguments(
    local_chain: LocalChain, client: EvmClient, kind: str, tail: bytes, reference: bytes | None
) -> None:
    token = local_chain.usdc if kind == "token" else ""
    [transfer] = transfers_of(
        client, local_chain, local_chain.transfer(token, local_chain.recipient, 1, tail=tail)
    )
    assert reference_of(transfer) == reference


def test_a_look_alike_token_is_known_by_its_own_address(
    local_chain: LocalChain, client: EvmClient, look_alike: str
) -> None:
    [transfer] = transfers_of(
        client, local_chain, local_chain.transfer(look_alike, local_chain.recipient, 9, tail=REFERENCE)
    )
    assert transfer.token == look_alike != local_chain.usdc


def test_of_a_token_that_takes_a_fee_what_arrived_counts(
    local_chain: LocalChain, client: EvmClient, fee_token: str
) -> None:
    before = local_chain.token_balance(fee_token, local_chain.recipient)
    sent = local_chain.transfer(fee_token, local_chain.recipient, 1_000_000, tail=REFERENCE)
    arrived = [t for t in transfers_of(client, local_chain, sent) if t.recipient == local_chain.recipient]
    assert [(t.amount, reference_of(t)) for t in arrived] == [(990_000, REFERENCE)]
    assert local_chain.token_balance(fee_token, local_chain.recipient) - before == 990_000


def test_a_call_without_value_to_an_account_moves_nothing(local_chain: LocalChain, client: EvmClient) -> None:
    assert (
        transfers_of(client, local_chain, local_chain.transfer("", local_chain.recipient, 0, tail=REFERENCE))
        == ()
    )


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


def test_a_log_of_the_right_shape_is_a_transfer() -> None:
    [transfer] = read(log())
    assert (transfer.slot, transfer.amount, reference_of(transfer)) == ("0", 7, REFERENCE)


def test_a_transfer_keeps_its_slot_when_a_reorganisation_moves_its_log() -> None:
    """Its index in the block depends on what else is mined there; what was credited must not be credited again."""
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
        {"topics": [TOPICS[0], TOPICS[1], "0x01" + TOPICS[2][4:]]},  # more than an address
        {"topics": [TOPICS[0], "0x" + "ff" * 32, TOPICS[2]]},
        {"topics": [TOPICS[0], TOPICS[1][:-2], TOPICS[2]]},
        {"data": "0x"},
        {"data": "0x" + word(7)[:-2]},
        {"data": "0x" + word(7) * 2},
        {"data": "0x" + word(7) + "00"},
    ],
    ids=range(13),
)
def test_a_log_of_any_other_shape_is_passed_over_and_spoils_nothing(different: dict[str, Any]) -> None:
    assert [transfer.slot for transfer in read(log(**different), log(logIndex="0x5"))] == ["1"], (
        "its place in its own receipt, whatever its index in the block"
    )


@pytest.mark.parametrize(
    "transaction",
    [
        {"to": "0x" + "44" * 20},  # another contract was called
        {"to": None},  # a contract was created
        {"input": "0x"},
        {"input": "0x" + REFERENCE.hex()},
        {"input": "0x095ea7b3" + word(int(RECIPIENT, 16)) + word(7) + REFERENCE.hex()},  # approve
        {"input": "0xa9059cbb" + word(int(PAYER, 16)) + word(7) + REFERENCE.hex()},  # it paid somebody else
        {"input": "0xa9059cbb" + "01" + word(int(RECIPIENT, 16))[2:] + word(7) + REFERENCE.hex()},
        {"input": "0xa9059cbb" + word(int(RECIPIENT, 16)) + word(7) + REFERENCE.hex()[:-2]},
    ],
    ids=range(8),
)
def test_bytes_elsewhere_are_no_reference(transaction: dict[str, Any]) -> None:
    [transfer] = read(log(), **transaction)
    assert reference_of(transfer) is None


def test_transfer_from_carries_its_reference_after_three_arguments() -> None:
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
def test_a_log_that_is_malformed_is_no_answer(broken: Any) -> None:
    with pytest.raises(ChainError):
        read(log(), broken)


@pytest.mark.parametrize(
    "transaction", [{"to": "0x12"}, {"to": 7}, {"value": None}, {"value": "7"}, {"input": None, "to": TOKEN}]
)
def test_a_transaction_that_is_malformed_is_no_answer(transaction: dict[str, Any]) -> None:
    with pytest.raises(ChainError):
        read(log(), **transaction)
