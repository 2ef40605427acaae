"""Lamports that move without a transfer: what a program moves out of its own account, and unwrapped SOL.

A merchant can accept such money, and nobody claims it; what leaves the recipient that way is not paid by coming back.
"""

import os
import struct

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID

from chains.client import ChainClient, Transfer
from chains.families.solana.accounts import WRAPPED_SOL
from chains.families.solana.transactions.entries import read_entry
from chains.families.solana.transactions.transfers import transfers
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.submission.merchant_acceptance import accept_payment
from tests.support.payments.world import Clock, look_until_decided, make_request
from tests.support.solana.answers import TOKEN, Call, Ledger, address, closed, coins, program
from tests.support.solana.ledger import LocalLedger, new_address, token_account, with_references
from tests.support.solana.programs import plant_moving, smuggled
from tests.support.solana.world import decide

Status = PaymentRequest.Status
SOL = 10**9
SYNC, UNWRAP_ALL = b"\x11", b"\x2d\0"
UNWRAP_ONE = b"\x2d\x01" + struct.pack("<Q", SOL)


@pytest.fixture
def coin(solana: Chain) -> Token:
    return Token.objects.create(chain=solana, symbol="SOL", name="SOL", decimals=9, contract_address="")


def paid_by_program(ledger: LocalLedger, recipient: str) -> str:
    """A program wallet pays 1 SOL; return the signature."""
    wallet, account = plant_moving(ledger, SOL, 5 * SOL)
    return ledger.send([Instruction(wallet, b"", written(account, Pubkey.from_string(recipient)))])


def unwrapped(ledger: LocalLedger, recipient: str, data: bytes) -> str:
    """A customer pays out of wrapped SOL, which stays open; return the signature."""
    customer = ledger.new_wallet(lamports=3 * SOL)
    account = token_account(str(customer.pubkey()), WRAPPED_SOL)
    mint, owner = Pubkey.from_string(WRAPPED_SOL), customer.pubkey()
    wrap = [
        spl.create_idempotent_associated_token_account(owner, owner, mint, TOKEN_PROGRAM_ID),
        transfer(TransferParams(from_pubkey=owner, to_pubkey=account, lamports=SOL)),
        Instruction(TOKEN_PROGRAM_ID, SYNC, written(account)),
    ]
    ledger.send(wrap, customer)
    signing = AccountMeta(owner, is_signer=True, is_writable=False)
    places = [*written(account, Pubkey.from_string(recipient)), signing]
    return ledger.send([Instruction(TOKEN_PROGRAM_ID, data, places)], customer)


def written(*keys: Pubkey) -> list[AccountMeta]:
    return [AccountMeta(key, is_signer=False, is_writable=True) for key in keys]


@pytest.mark.parametrize("way", ["by a program", "unwrapped", "unwrapped in full"])
def test_sol_that_arrives_without_a_transfer_is_not_denied_and_can_be_accepted(
    merchant: Merchant, coin: Token, local_ledger: LocalLedger, way: str
) -> None:
    recipient = new_address()
    request = make_request(merchant, coin, "1", recipient)
    if way == "by a program":
        signature = paid_by_program(local_ledger, recipient)
    else:
        data = UNWRAP_ALL if way == "unwrapped in full" else UNWRAP_ONE
        signature = unwrapped(local_ledger, recipient, data)
    payment = decide(local_ledger, request, signature)
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_bound")
    assert ConsumedTransfer.objects.count() == 0
    accept_payment(payment, reason="the customer wrote to us", actor="test")
    payment = look_until_decided(payment, Clock())
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, SOL)
    assert (payment.bound_by, ConsumedTransfer.objects.get().amount) == ("manual", SOL)


def test_lamports_that_a_recipient_lends_are_not_paid_by_coming_back_beside_a_delivery(
    merchant: Merchant, coin: Token, local_ledger: LocalLedger
) -> None:
    """The recipient is a program's account; the thief borrows from it, and pays with that."""
    lender, recipient = plant_moving(local_ledger, SOL, 5 * SOL)
    request = make_request(merchant, coin, "1", str(recipient))
    thief, bridge = (local_ledger.new_wallet(lamports=lamports) for lamports in (SOL // 10, 5 * SOL))
    borrowing = Instruction(lender, b"", written(recipient, thief.pubkey()))
    delivering = smuggled(local_ledger, coin_move(bridge, recipient), b"deliver")
    paying = with_references(coin_move(thief, recipient), bytes(request.reference))
    signature = local_ledger.send([borrowing, delivering, paying], thief, bridge)
    payment = decide(local_ledger, request, signature)
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_bound")
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0


def coin_move(sender: Keypair, recipient: Pubkey) -> Instruction:
    return transfer(TransferParams(from_pubkey=sender.pubkey(), to_pubkey=recipient, lamports=SOL))


def test_what_no_instruction_names_has_a_slot_of_its_own_and_no_claimant(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    recipient = new_address()
    signature = paid_by_program(local_ledger, recipient)
    facts = client.look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    [gained] = [transfer for transfer in facts.transfers if transfer.recipient == recipient]
    assert gained == Transfer(gained.slot, "", "", recipient, SOL, claimable=0, account=recipient, gain=SOL)
    assert gained.slot.startswith("gain.")


def balanced(before_and_after: dict[str, tuple[int, int]]) -> tuple[Ledger, str]:
    """Return a ledger whose first signer pays for the transaction, and that signer."""
    customer = address()
    return Ledger([customer], lamports={customer: (SOL, SOL), **before_and_after}), customer


def test_a_payment_beside_what_no_instruction_names_counts_in_full() -> None:
    merchant, vault, reference = address(), address(), os.urandom(16)
    ledger, customer = balanced({merchant: (0, 15), vault: (5, 0)})
    ledger.lamports[customer] = SOL, SOL - 10
    found = ledger.transfers(
        coins(customer, merchant, 10, reference), Call(program(), [vault, merchant], b"")
    )
    assert [(t.amount, t.claimable, t.sender) for t in found] == [(10, 10, customer), (5, 0, "")]


def test_without_the_inner_instructions_no_gain_is_called_unnamed() -> None:
    merchant, vault = address(), address()
    ledger, _ = balanced({merchant: (0, 5), vault: (5, 0)})
    answer = ledger.answer(Call(program(), [vault, merchant], b""))
    answer["meta"]["innerInstructions"] = None
    assert transfers(read_entry(answer)) == ()


def test_nothing_is_unnamed_where_a_wrapped_account_is_unwrapped_in_part_and_then_closed() -> None:
    merchant, account = address(), address()
    ledger, customer = balanced({merchant: (0, 30), account: (30, 0)})
    ledger.has(account, WRAPPED_SOL, (customer, 28), (customer, None))
    part = Call(TOKEN, [account, merchant, customer], b"\x2d\x01" + struct.pack("<Q", 8))
    found = ledger.transfers(part, closed(account, merchant, customer))
    assert [(t.slot, t.amount, t.sender, t.claimable) for t in found] == [
        ("0", 8, customer, 0),
        ("1", 22, customer, 0),
    ]
