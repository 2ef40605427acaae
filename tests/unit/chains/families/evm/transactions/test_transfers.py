"""T-04: where native coin is logged as if it were a token (EIP-7708), it is counted by its value alone."""

from typing import Any

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
