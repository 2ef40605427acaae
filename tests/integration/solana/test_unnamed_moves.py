"""Lamports that move without a transfer: a program moves them from its own account, or SOL is unwrapped.

A merchant can accept such money. No reference binds it. If the recipient lends money and gets it back, that
pays nothing.
"""

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
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.submission.merchant_acceptance import accept_payment
from tests.support.payments.world import Clock, look_until_decided, make_request
from tests.support.solana.ledger import LocalLedger, new_address, token_account, with_references
from tests.support.solana.programs import plant_moving, smuggled
from tests.support.solana.world import decide

Status = PaymentRequest.Status
SOL = 10**9
SYNC = b"\x11"
UNWRAP_ONE = b"\x2d\x01" + struct.pack("<Q", SOL)


@pytest.fixture
def coin(solana: Chain) -> Token:
    return Token.objects.create(chain=solana, symbol="SOL", name="SOL", decimals=9, contract_address="")


def paid_by_program(ledger: LocalLedger, recipient: str) -> str:
    """Have a program wallet pay 1 SOL; return the signature."""
    wallet, account = plant_moving(ledger, SOL, 5 * SOL)
    return ledger.send([Instruction(wallet, b"", written(account, Pubkey.from_string(recipient)))])


def unwrapped(ledger: LocalLedger, recipient: str, data: bytes) -> str:
    """Have a customer pay from a wrapped SOL account that stays open; return the signature."""
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


@pytest.mark.parametrize("way", ["by a program", "unwrapped"])
def test_sol_without_a_transfer_can_be_accepted(
    merchant: Merchant, coin: Token, local_ledger: LocalLedger, way: str
) -> None:
    recipient = new_address()
    request = make_request(merchant, coin, "1", recipient)
    if way == "by a program":
        signature = paid_by_program(local_ledger, recipient)
    else:
        signature = unwrapped(local_ledger, recipient, UNWRAP_ONE)
    payment = decide(local_ledger, request, signature)
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_bound")
    assert ConsumedTransfer.objects.count() == 0
    accept_payment(payment, reason="the customer wrote to us", actor="test")
    payment = look_until_decided(payment, Clock())
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, SOL)
    assert (payment.bound_by, ConsumedTransfer.objects.get().amount) == ("manual", SOL)


def test_returned_loan_beside_a_delivery_pays_nothing(
    merchant: Merchant, coin: Token, local_ledger: LocalLedger
) -> None:
    """The recipient is a program's account. The thief borrows from it and pays with the borrowed money."""
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


def test_gain_without_an_instruction_has_its_own_slot(client: ChainClient, local_ledger: LocalLedger) -> None:
    recipient = new_address()
    signature = paid_by_program(local_ledger, recipient)
    facts = client.look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    [gained] = [transfer for transfer in facts.transfers if transfer.recipient == recipient]
    assert gained == Transfer(gained.slot, "", "", recipient, SOL, claimable=0, account=recipient, gain=SOL)
    assert gained.slot.startswith("gain.")
