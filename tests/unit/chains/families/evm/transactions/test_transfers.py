"""If native coin is logged like a token (EIP-7708), only its value counts, not the log."""

from typing import Any

import pytest
from eth_utils.address import to_checksum_address

from chains.families.evm.transactions import transfers
from chains.families.evm.transactions.trace import read_trace
from chains.families.evm.transactions.transfers import SYSTEM_ADDRESS

PAYER, RECIPIENT, WALLET = "0x" + "22" * 20, "0x" + "33" * 20, "0x" + "44" * 20
REFERENCE = bytes(range(16))
TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def word(number: int) -> str:
    return "0x" + hex(number)[2:].rjust(64, "0")


def native_log(sender: str, recipient: str, amount: int) -> dict[str, Any]:
    return {
        "address": SYSTEM_ADDRESS.lower(),
        "topics": [TOPIC, word(int(sender, 16)), word(int(recipient, 16))],
        "data": word(amount),
        "logIndex": "0x0",
    }


def test_a_payment_of_native_coin_is_one_transfer() -> None:
    transaction = {"from": PAYER, "to": RECIPIENT, "value": "0x7", "input": "0x" + REFERENCE.hex()}
    receipt = {"logs": [native_log(PAYER, RECIPIENT, 7)], "gasUsed": hex(21_000 + 4 + 15 * 16)}
    [transfer] = transfers.transfers(transaction, receipt)
    assert (transfer.slot, transfer.token, transfer.amount) == ("value", "", 7)
    assert transfer.references == (REFERENCE,)
    assert not transfers.needs_trace(transaction, receipt)


def test_native_coin_of_an_inner_call_is_one_transfer() -> None:
    transaction = {"from": PAYER, "to": WALLET, "value": "0x0", "input": "0x12345678"}
    receipt = {"logs": [native_log(WALLET, RECIPIENT, 7)], "gasUsed": "0xffff"}
    inner = {"type": "CALL", "from": WALLET, "to": RECIPIENT, "value": "0x7", "input": "0x" + REFERENCE.hex()}
    outer = {"type": "CALL", "from": PAYER, "to": WALLET, "value": "0x0", "input": "0x12345678"}
    trace = read_trace({**outer, "calls": [inner]})
    [transfer] = transfers.transfers(transaction, receipt, trace)
    assert (transfer.slot, transfer.token, transfer.amount) == ("0.0", "", 7)
    assert transfer.references == (REFERENCE,)
    assert transfers.needs_trace(transaction, receipt)


@pytest.mark.parametrize(
    ("extra", "is_marked"), [(0, False), (15, False), (16, True), (17, False), (32, False)]
)
def test_exactly_sixteen_more_bytes_mark_a_transfer(extra: int, is_marked: bool) -> None:
    """A longer suffix is a wallet's attribution. Only exactly sixteen bytes are a reference."""
    suffix = bytes(extra).hex()
    call = "0xa9059cbb" + word(int(RECIPIENT, 16))[2:] + word(7)[2:]
    sent = {"from": PAYER, "to": WALLET, "value": "0x0", "input": call + suffix}
    paid = {**native_log(PAYER, RECIPIENT, 7), "address": WALLET}
    [token] = transfers.transfers(sent, {"logs": [paid], "gasUsed": "0xffff"})
    assert (token.made_by, token.is_marked) == (to_checksum_address(PAYER), is_marked)
    coins = {"from": PAYER, "to": WALLET, "value": "0x7", "input": "0x" + suffix}
    [native] = transfers.transfers(coins, {"logs": [], "gasUsed": "0xffff"})
    assert (native.made_by, native.is_marked) == (to_checksum_address(PAYER), is_marked)
    inner = {"type": "CALL", "from": PAYER, "to": RECIPIENT, "value": "0x7", "input": "0x" + suffix}
    outer = {"type": "CALL", "from": PAYER, "to": PAYER, "value": "0x0", "input": "0x12345678"}
    self_call = {"from": PAYER, "to": PAYER, "value": "0x0", "input": "0x12345678"}
    trace = read_trace({**outer, "calls": [inner]})
    [traced] = transfers.transfers(self_call, {"logs": [], "gasUsed": "0xffff"}, trace)
    assert traced.is_marked == is_marked
