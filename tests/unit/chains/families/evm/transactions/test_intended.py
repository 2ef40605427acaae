"""The transfers that a transaction's bytes promise, and a digest that recognises replacements with the same effect."""

from typing import Any

import pytest

from chains.client import Transfer
from chains.families.evm.quantities import to_hex
from chains.families.evm.transactions.intended import effect, intended
from tests.support.threats.real_accounts import call_data

REFERENCE = b"r" * 16
PAYER, OWNER, SHOP, TOKEN = ("0x" + digits * 20 for digits in ("11", "22", "33", "44"))
PAY = call_data("transfer(address,uint256)", SHOP, 10) + REFERENCE
PULL = call_data("transferFrom(address,address,uint256)", OWNER, SHOP, 10) + REFERENCE


def sent(data: bytes, to: str | None = TOKEN, value: int = 0, **more: Any) -> dict[str, Any]:
    return {"from": PAYER, "to": to, "value": hex(value), "input": to_hex(data), **more}


@pytest.mark.parametrize(
    ("transaction", "expected"),
    [
        (sent(PAY), [Transfer("call", TOKEN, PAYER, SHOP, 10, (REFERENCE,), made_by=PAYER)]),
        (sent(PULL), [Transfer("call", TOKEN, OWNER, SHOP, 10, (REFERENCE,))]),
        (sent(REFERENCE, SHOP, 7), [Transfer("value", "", PAYER, SHOP, 7, (REFERENCE,), made_by=PAYER)]),
        (sent(b"", SHOP, 7), [Transfer("value", "", PAYER, SHOP, 7, (), made_by=PAYER)]),
        (sent(PAY, None), []),
        (sent(b"swap" + PAY), []),
    ],
    ids=["transfer", "transferFrom", "native with a reference", "native", "a creation", "another call"],
)
def test_intended_transfers_are_read_from_the_call(
    transaction: dict[str, Any], expected: list[Transfer]
) -> None:
    assert list(intended(transaction)) == expected


def test_effect_depends_on_recipient_value_and_data_only() -> None:
    one = effect(sent(PAY, nonce="0x1", maxFeePerGas="0x5", hash="0xa"))
    assert one == effect(sent(PAY, nonce="0x2", maxFeePerGas="0x9", hash="0xb"))
    others = [sent(PAY, SHOP), sent(PAY, value=1), sent(PAY + b"x"), sent(PAY, None), sent(b"")]
    assert len({one, *map(effect, others)}) == 1 + len(others)
    assert effect(sent(b"", None)) != effect(sent(b"", "0x" + "00" * 20))
