"""A transaction needs no trace only if it shows everything that it moved.

Any other might hide another customer's payment.
"""

from typing import Any

import pytest

from chains.families.evm.quantities import to_hex
from chains.families.evm.transactions.signed_calls import USER_OPERATION_EVENT
from chains.families.evm.transactions.transfers import needs_trace, transfers
from tests.support.threats.evm_world import call_data, transfer_data

PAYER, VICTIM, PAYEE, TOKEN, OTHER = ("0x" + digits * 20 for digits in ("11", "22", "33", "44", "55"))
REFERENCE = b"r" * 16
TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
PAY = transfer_data(PAYEE, 10, REFERENCE)
PAY_FROM = call_data("transferFrom(address,address,uint256)", VICTIM, PAYEE, 10) + REFERENCE


def log(sender: str, recipient: str, amount: int, token: str = TOKEN) -> dict[str, Any]:
    topics = [TOPIC, *("0x" + account[2:].rjust(64, "0") for account in (sender, recipient))]
    return {"address": token, "topics": topics, "data": to_hex(amount.to_bytes(32)), "logIndex": "0x0"}


def sent(data: bytes, to: str | None = TOKEN, value: int = 0) -> dict[str, Any]:
    return {"from": PAYER, "to": to, "value": hex(value), "input": to_hex(data)}


EVENT = {"address": OTHER, "topics": [to_hex(USER_OPERATION_EVENT)], "data": "0x", "logIndex": "0x1"}


@pytest.mark.parametrize(
    ("transaction", "logs"),
    [
        (sent(PAY), [log(PAYER, PAYEE, 10)]),
        (sent(PAY_FROM), [log(VICTIM, PAYEE, 10)]),
        (sent(PAY), [log(PAYER, OTHER, 1), log(PAYER, PAYEE, 9)]),  # a fee
    ],
    ids=range(3),
)
def test_a_tokens_transfer_with_one_log_of_it_shows_all(
    transaction: dict[str, Any], logs: list[dict[str, Any]]
) -> None:
    receipt = {"logs": logs, "gasUsed": "0xcab2"}
    assert not needs_trace(transaction, receipt)
    assert transfers(transaction, receipt)[-1].references == (REFERENCE,)


@pytest.mark.parametrize(
    ("transaction", "logs"),
    [
        (sent(PAY), []),
        (sent(PAY, value=1), [log(PAYER, PAYEE, 10)]),
        (sent(PAY, None), [log(PAYER, PAYEE, 10)]),
        (sent(PAY, OTHER), [log(PAYER, PAYEE, 10)]),
        (sent(PAY[:40]), [log(PAYER, PAYEE, 10)]),
        (sent(PAY), [log(PAYER, OTHER, 10)]),
        # Another customer's payment, made during this one or in its place.
        (sent(PAY), [log(VICTIM, PAYEE, 10)]),
        (sent(PAY_FROM), [log(PAYER, PAYEE, 10)]),
        (sent(PAY), [log(VICTIM, PAYEE, 99), log(PAYER, PAYEE, 10)]),
        (sent(PAY), [log(PAYER, PAYEE, 10), log(PAYER, PAYEE, 10)]),
        (sent(PAY), [log(PAYER, PAYEE, 11)]),
        (sent(PAY), [log(PAYER, PAYEE, 10), log(VICTIM, PAYEE, 10, OTHER)]),
        (sent(PAY), [log(PAYER, PAYEE, 10), EVENT]),
        # Money that a hook of the recipient forwards, perhaps with its own reference.
        (sent(PAY), [log(PAYER, PAYEE, 10), log(PAYEE, OTHER, 10)]),
    ],
    ids=range(14),
)
def test_anything_more_or_else_is_worth_a_trace(
    transaction: dict[str, Any], logs: list[dict[str, Any]]
) -> None:
    assert needs_trace(transaction, {"logs": logs, "gasUsed": "0xcab2"})


@pytest.mark.parametrize(
    ("data", "gas", "ran_code"),
    [
        (b"", 21_000, False),
        (b"", 21_001, True),
        (REFERENCE, 21_000 + 16 * 16, False),  # EIP-2028
        (REFERENCE, 21_000 + 16 * 40, False),  # EIP-7623
        (bytes(8) + b"r" * 8, 21_000 + 8 * 4 + 8 * 16, False),
        (REFERENCE, 21_000, True),
        (b"r" * 1000, 21_000 + 1000 * 16, False),
        # EIP-7623 charges a minimum of gas, which hides how much the code used below it.
        (b"r" * 1000, 21_000 + 1000 * 40, True),
    ],
    ids=range(8),
)
def test_native_payment_needs_trace_only_if_gas_shows_code_ran(data: bytes, gas: int, ran_code: bool) -> None:
    assert needs_trace(sent(data, PAYEE, 5), {"logs": [], "gasUsed": hex(gas)}) is ran_code


def test_contract_creation_and_receipt_without_gas_need_trace() -> None:
    assert needs_trace(sent(b"", None, 5), {"logs": [], "gasUsed": hex(21_000)})
    assert needs_trace(sent(b"", PAYEE, 5), {"logs": []})


@pytest.mark.parametrize("receipt", [{}, {"logs": [7]}, {"logs": [{}]}, {"logs": [], "gasUsed": "no"}])
def test_a_malformed_receipt_is_not_worth_a_trace(receipt: dict[str, Any]) -> None:
    assert not needs_trace(sent(PAY), receipt)


@pytest.mark.parametrize(
    ("transaction", "sender", "is_its_own"),
    [
        (sent(PAY), PAYER, True),
        (sent(PAY), VICTIM, False),
        (sent(PAY_FROM), VICTIM, False),  # moved with an allowance
        (sent(b"batch", PAYER), PAYER, False),  # an account with its own code (EIP-7702)
        (sent(b"fill", OTHER), PAYER, False),
        (sent(b"handleOps", OTHER), VICTIM, False),
    ],
    ids=range(6),
)
def test_untraced_maker_is_known_only_for_senders_transfer(
    transaction: dict[str, Any], sender: str, is_its_own: bool
) -> None:
    (moved,) = transfers(transaction, {"logs": [log(sender, PAYEE, 10)], "gasUsed": "0xcab2"})
    assert moved.made_by == (sender if is_its_own else "")


def test_transfer_from_reference_counts_only_for_owners_tokens() -> None:
    for sender, references in ((VICTIM, (REFERENCE,)), (PAYER, ())):
        (moved,) = transfers(sent(PAY_FROM), {"logs": [log(sender, PAYEE, 10)], "gasUsed": "0xcab2"})
        assert moved.references == references


def test_token_interest_logged_beside_payment_is_not_claimed() -> None:
    logs = [log("0x" + "00" * 20, PAYEE, 10**9), log(PAYER, PAYEE, 10)]
    interest, paid = transfers(sent(PAY), {"logs": logs, "gasUsed": "0xcab2"})
    assert (interest.references, interest.made_by) == ((), "")
    assert (paid.references, paid.made_by, paid.claimable) == ((REFERENCE,), PAYER, None)


def test_repeated_logs_between_same_accounts_bind_no_transfer() -> None:
    """One log may belong to another payment. A hook of the token may have made a pool take the payer's tokens."""
    moved = transfers(
        sent(PAY), {"logs": [log(PAYER, PAYEE, 10), log(PAYER, PAYEE, 10)], "gasUsed": "0xcab2"}
    )
    assert [(t.references, t.made_by) for t in moved] == [((), "")] * 2


def test_no_more_is_claimed_than_the_call_names() -> None:
    (moved,) = transfers(sent(PAY), {"logs": [log(PAYER, PAYEE, 11)], "gasUsed": "0xcab2"})
    assert (moved.references, moved.amount, moved.claimable) == ((REFERENCE,), 11, 10)


@pytest.mark.parametrize("kind", [0x71, 0x7E, 0x7F])
def test_transaction_run_by_sender_code_is_unbound_untraced(kind: int) -> None:
    """The transaction's type is not Ethereum's. It may look like a payment, but have a pool pay."""
    receipt = {"logs": [log(PAYER, PAYEE, 10)], "gasUsed": "0xcab2"}
    pays = {**sent(PAY), "type": hex(kind)}
    assert needs_trace(pays, receipt)
    (moved,) = transfers(pays, receipt)
    assert (moved.references, moved.made_by) == ((), "")
    native = {**sent(REFERENCE, PAYEE, 5), "type": hex(kind)}
    plain = {"logs": [], "gasUsed": hex(21_000 + 16 * 16)}
    assert needs_trace(native, plain)
    (moved,) = transfers(native, plain)
    assert (moved.references, moved.claimable) == ((), 0)
