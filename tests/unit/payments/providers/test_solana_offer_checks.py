"""The Solana offers that a customer may see. Each tested transaction is honest except for one thing."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import (
    AdvanceNonceAccountParams,
    AssignParams,
    TransferParams,
    advance_nonce_account,
    assign,
    transfer,
)
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import ApproveParams, TransferCheckedParams
from spl.token.models import TransferParams as TokenTransferParams

from chains.client import Action, SolanaTransaction
from payments.providers.base import Offer, Side
from payments.providers.offer_checks import OfferRefused, accept
from tests.support.routing.offers import (
    BRIDGE,
    ID,
    MERCHANT,
    NATIVE_FEE,
    RULES,
    SOLANA,
    USDC_ON_SOLANA,
    WANTED,
)
from tests.support.solana.actions import bare, whole

PAYER, THIEF, PROGRAM = Keypair(), Pubkey.new_unique(), Pubkey.new_unique()
MINT, OTHER_MINT = Pubkey.from_string(USDC_ON_SOLANA), Pubkey.new_unique()
WRAPPED = Pubkey.from_string("So11111111111111111111111111111111111111112")
HOLDING, VAULT = Pubkey.new_unique(), Pubkey.new_unique()
PRICE = 10_050_000
RULES_FROM_SOLANA = replace(RULES, source_type="solana", routers=frozenset({str(PROGRAM)}))
FROM_SOLANA = replace(WANTED, source=Side(SOLANA, USDC_ON_SOLANA, str(PAYER.pubkey())))
WITH_SOL = replace(FROM_SOLANA, source=replace(FROM_SOLANA.source, token=""))


def bridge(data: bytes = ID[:8] + bytes.fromhex(MERCHANT[2:]), program: Pubkey = PROGRAM) -> Instruction:
    """Return a call to the provider's program that gives it the payer's signature."""
    return Instruction(program, b"\x09" + data, [AccountMeta(PAYER.pubkey(), True, True)])


def pays(amount: int = PRICE, mint: Pubkey = MINT) -> Instruction:
    """Return a token transfer from the payer's account."""
    return spl.transfer_checked(
        TransferCheckedParams(
            program_id=TOKEN_PROGRAM_ID,
            source=HOLDING,
            mint=mint,
            dest=VAULT,
            owner=PAYER.pubkey(),
            amount=amount,
            decimals=6,
        )
    )


def sends(lamports: int) -> Instruction:
    """Return a SOL transfer from the payer's wallet."""
    return transfer(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=VAULT, lamports=lamports))


def offering(action: Action) -> Offer:
    """Return an offer with this transaction, from USDC on Solana to USDC on an EVM chain."""
    return replace(
        BRIDGE,
        source=FROM_SOLANA.source,
        amount_in=PRICE,
        spender=None,
        action=action,
        action_chain_id=SOLANA,
        usd_in=Decimal("10.05"),
    )


def with_sol(instructions: Sequence[Instruction], lamports: int) -> Offer:
    """Return the same offer paid in SOL."""
    return replace(offering(whole(instructions, PAYER)), source=WITH_SOL.source, amount_in=lamports)


@pytest.mark.parametrize("made", [lambda steps: whole(steps, PAYER), bare], ids=["whole", "instructions"])
def test_an_honest_transaction_is_accepted(made: Callable[[Sequence[Instruction]], Action]) -> None:
    accept(offering(made([pays(), bridge()])), FROM_SOLANA, RULES_FROM_SOLANA)
    accept(offering(made([bridge()])), FROM_SOLANA, RULES_FROM_SOLANA)


def test_sol_may_be_sent_or_wrapped_up_to_what_was_offered() -> None:
    offer = with_sol([sends(10**9), pays(10**9, WRAPPED), bridge()], 10**9)
    accept(offer, WITH_SOL, RULES_FROM_SOLANA)
    for steps in ([sends(2 * 10**9), bridge()], [pays(10**9 + 1, WRAPPED), bridge()]):
        with pytest.raises(OfferRefused, match="more SOL than the offer"):
            accept(with_sol(steps, 10**9), WITH_SOL, RULES_FROM_SOLANA)


def test_a_fee_on_top_may_be_taken_in_sol() -> None:
    fee = replace(NATIVE_FEE, symbol="SOL", decimals=9, chain_id=SOLANA, amount=10**8)
    steps = [sends(10**8), pays(), bridge()]
    accept(replace(offering(whole(steps, PAYER)), fees=(fee,)), FROM_SOLANA, RULES_FROM_SOLANA)
    with pytest.raises(OfferRefused, match="more SOL than the offer"):
        accept(offering(whole(steps, PAYER)), FROM_SOLANA, RULES_FROM_SOLANA)


NONCE = advance_nonce_account(
    AdvanceNonceAccountParams(nonce_pubkey=Pubkey.new_unique(), authorized_pubkey=PAYER.pubkey())
)
APPROVAL = spl.approve(
    ApproveParams(program_id=TOKEN_PROGRAM_ID, source=HOLDING, delegate=THIEF, owner=PAYER.pubkey(), amount=1)
)
UNCHECKED = spl.transfer(
    TokenTransferParams(
        program_id=TOKEN_PROGRAM_ID, source=HOLDING, dest=VAULT, owner=PAYER.pubkey(), amount=PRICE + 1
    )
)
HOSTILE: dict[str, tuple[SolanaTransaction, str]] = {
    "bytes that are none": (SolanaTransaction(b"\x01\x02\x03"), "malformed"),
    "no bytes": (SolanaTransaction(b""), "malformed"),
    "another payer": (whole([bridge()], Keypair()), "not the only signer"),
    "a second signer": (
        whole([bridge(), transfer(TransferParams(from_pubkey=THIEF, to_pubkey=VAULT, lamports=1))], PAYER),
        "not the only signer",
    ),
    "a durable nonce": (whole([NONCE, bridge()], PAYER), "any later time"),
    "no pinned program": (whole([pays(), bridge(program=Pubkey.new_unique())], PAYER), "no program that the"),
    "no id": (whole([pays(), bridge(bytes(28))], PAYER), "does not carry its id"),
    "the id told to a stranger": (
        whole([bridge(bytes(28)), bridge(program=Pubkey.new_unique())], PAYER),
        "does not carry its id",
    ),
    "more of the token": (whole([pays(PRICE + 1), bridge()], PAYER), "more of the token"),
    "the token twice": (whole([pays(), pays(1), bridge()], PAYER), "more of the token"),
    "another token": (whole([pays(1, OTHER_MINT), bridge()], PAYER), "may do more than pay"),
    "wrapped SOL that is there": (whole([pays(1, WRAPPED), bridge()], PAYER), "more SOL than the offer"),
    "SOL": (whole([sends(10**9), bridge()], PAYER), "more SOL than the offer"),
    "leave to take tokens": (
        whole([APPROVAL, bridge()], PAYER),
        "may do more than pay",
    ),
    "the wallet itself": (
        whole([assign(AssignParams(pubkey=PAYER.pubkey(), owner=THIEF)), bridge()], PAYER),
        "may do more than pay",
    ),
    "the wallet's signature for a stranger": (
        whole([bridge(), bridge(program=Pubkey.new_unique())], PAYER),
        "may do more than pay",
    ),
    "more, not naming the token": (
        whole(
            [
                UNCHECKED,
                bridge(),
            ],
            PAYER,
        ),
        "more of the token",
    ),
}


@pytest.mark.parametrize("wrong", HOSTILE)
def test_a_transaction_that_may_do_anything_else_is_refused(wrong: str) -> None:
    action, reason = HOSTILE[wrong]
    with pytest.raises(OfferRefused, match=reason):
        accept(offering(action), FROM_SOLANA, replace(RULES_FROM_SOLANA, allow_opaque=True))


def test_a_transaction_that_does_not_name_the_receiver_is_opaque() -> None:
    offer = offering(whole([pays(), bridge(ID[:8])], PAYER))
    accept(offer, FROM_SOLANA, replace(RULES_FROM_SOLANA, allow_opaque=True))
    with pytest.raises(OfferRefused, match="does not name the receiver"):
        accept(offer, FROM_SOLANA, RULES_FROM_SOLANA)
