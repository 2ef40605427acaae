"""A provider's Solana transaction is returned only if the wallet is its only signer.

Then it does what the route says.
"""

import base64
from typing import Any

import pytest
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import CloseAccountParams, SyncNativeParams, TransferCheckedParams

from chains.client import (
    Action,
    ChainClient,
    EvmCall,
    Refusal,
    SolanaInstructions,
    SolanaTransaction,
    Spending,
    TransferRefused,
)
from chains.families.solana.accounts import WRAPPED_SOL
from demo.solana import ledger as node_of
from tests.support.solana.actions import bare, make_table, memo, whole
from tests.support.solana.ledger import LocalLedger, new_address, token_account
from tests.support.solana.programs import smuggled

SOL = 10**9
UNIT = 10**6
LEAST = 890_880
"""Lamports without which an account of no data can't be kept."""


@pytest.fixture
def wallet(local_ledger: LocalLedger) -> Keypair:
    """A customer with 1 SOL and 50 USDC."""
    return local_ledger.new_wallet(lamports=SOL, usdc=50 * UNIT)


def prepared(client: ChainClient, action: Action, wallet: Keypair, **spending: Any) -> str:
    return str(client.prepare(action, sender=str(wallet.pubkey()), spending=Spending(**spending)))


def rejection(client: ChainClient, action: Action, wallet: Keypair, **spending: Any) -> TransferRefused:
    with pytest.raises(TransferRefused) as error:
        prepared(client, action, wallet, **spending)
    return error.value


def test_complete_transaction_gets_a_fresh_blockhash(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    recipient = new_address()
    action = whole([memo("swap"), *local_ledger.token_move(recipient, 7 * UNIT, sender=wallet)], wallet)
    built = prepared(client, action, wallet, token=local_ledger.usdc, amount=7 * UNIT)
    local_ledger.sign_and_send(built, wallet)
    assert local_ledger.token_balance(recipient) == 7 * UNIT


def test_instructions_get_our_own_compute_budget(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    recipient = new_address()
    theirs = [set_compute_unit_limit(1_000_000), set_compute_unit_price(10**12)]
    moves = local_ledger.token_move(recipient, 7 * UNIT, sender=wallet)
    built = prepared(client, bare([*theirs, *moves]), wallet, token=local_ledger.usdc, amount=7 * UNIT)
    message = VersionedTransaction.from_bytes(base64.b64decode(built)).message
    assert isinstance(message, MessageV0)
    assert len(message.instructions) == 4
    assert bytes(message.instructions[1].data) == b"\x03" + (1_000).to_bytes(8, "little")
    local_ledger.sign_and_send(built, wallet)
    assert local_ledger.token_balance(recipient) == 7 * UNIT


def test_instructions_may_use_a_lookup_table(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    recipient = local_ledger.new_wallet(usdc=1)
    target = token_account(str(recipient.pubkey()))
    table = make_table(local_ledger, [str(target), local_ledger.usdc])
    moves = local_ledger.token_move(str(recipient.pubkey()), 7 * UNIT, sender=wallet, to_account=target)
    for action in (bare(moves, [str(table.key)]), whole(moves, wallet, tables=[table])):
        built = prepared(client, action, wallet, token=local_ledger.usdc, amount=7 * UNIT)
        message = VersionedTransaction.from_bytes(base64.b64decode(built)).message
        assert isinstance(message, MessageV0)
        assert [lookup.account_key for lookup in message.address_table_lookups] == [table.key]
        assert target not in message.account_keys
        local_ledger.sign_and_send(built, wallet)
    assert local_ledger.token_balance(str(recipient.pubkey())) == 14 * UNIT + 1


def test_legacy_transaction_is_prepared(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    move = transfer(
        TransferParams(from_pubkey=wallet.pubkey(), to_pubkey=local_ledger.key.pubkey(), lamports=5)
    )
    message = Message.new_with_blockhash([move], wallet.pubkey(), Hash.default())
    action = SolanaTransaction(bytes(VersionedTransaction.populate(message, [Signature.default()])))
    built = prepared(client, action, wallet, token="", amount=5)
    signed = VersionedTransaction.from_bytes(base64.b64decode(built)).message
    assert isinstance(signed, Message)
    signature = wallet.sign_message(bytes(signed))
    node_of.send_signed(local_ledger.url, VersionedTransaction.populate(signed, [signature]))


def test_transaction_signed_by_others_keeps_its_bytes(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    other = local_ledger.new_wallet(lamports=SOL)
    moves = [
        transfer(TransferParams(from_pubkey=wallet.pubkey(), to_pubkey=other.pubkey(), lamports=SOL // 10)),
        transfer(TransferParams(from_pubkey=other.pubkey(), to_pubkey=wallet.pubkey(), lamports=1)),
    ]
    latest = node_of.latest_blockhash(local_ledger.url)
    action = whole(moves, wallet, signed_by=[other], blockhash=latest)
    built = base64.b64decode(prepared(client, action, wallet, token="", amount=SOL // 10))
    assert built == action.serialized
    transaction = VersionedTransaction.from_bytes(built)
    signature = wallet.sign_message(to_bytes_versioned(transaction.message))
    both = [signature, transaction.signatures[1]]
    node_of.send_signed(local_ledger.url, VersionedTransaction.populate(transaction.message, both))
    stale = whole(moves, wallet, signed_by=[other])
    assert rejection(client, stale, wallet, token="", amount=SOL // 10).refusal == Refusal.WOULD_FAIL


def test_route_shaped_like_a_real_one_is_prepared(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    """The shape of LI.FI's bridge from SOL: wrap, swap in one opaque call, unwrap, and pay a separate fee."""
    _make_wrapped_sol(local_ledger)
    wrapped, owner, program = Pubkey.from_string(WRAPPED_SOL), wallet.pubkey(), TOKEN_PROGRAM_ID
    own, pool = token_account(str(owner), WRAPPED_SOL), Keypair().pubkey()
    open_own = spl.create_idempotent_associated_token_account(owner, owner, wrapped, program)
    open_pool = spl.create_idempotent_associated_token_account(owner, pool, wrapped, program)
    local_ledger.send([open_own, open_pool], wallet)
    paid = SOL // 10 - 875_000
    swap = spl.transfer_checked(
        TransferCheckedParams(
            program_id=program,
            source=own,
            mint=wrapped,
            dest=token_account(str(pool), WRAPPED_SOL),
            owner=owner,
            amount=paid,
            decimals=9,
        )
    )
    close = CloseAccountParams(program_id=program, account=own, dest=owner, owner=owner)
    moves = [
        set_compute_unit_limit(1_400_000),
        set_compute_unit_price(1_000),
        spl.create_idempotent_associated_token_account(owner, Keypair().pubkey(), wrapped, program),
        open_own,
        _coins(owner, own, paid),
        spl.sync_native(SyncNativeParams(program_id=program, account=own)),
        smuggled(local_ledger, swap, bytes(8)),
        spl.close_account(close),
        _coins(owner, Keypair().pubkey(), 0),
        _coins(owner, local_ledger.key.pubkey(), SOL // 10 - paid),
    ]
    action = whole(moves, wallet)
    built = prepared(client, action, wallet, token="", amount=SOL // 10)
    assert "lamports" in rejection(client, action, wallet, token="", amount=SOL // 10 - 1).note
    local_ledger.sign_and_send(built, wallet)
    assert local_ledger.token_balance(str(pool), WRAPPED_SOL) == paid


def test_more_tokens_than_held_are_insufficient_funds(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    moves = local_ledger.token_move(new_address(), 51 * UNIT, sender=wallet)
    spending: dict[str, Any] = {"token": local_ledger.usdc, "amount": 51 * UNIT}
    for action in (whole(moves, wallet), bare(moves)):
        error = rejection(client, action, wallet, **spending)
        assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, UNIT)


def test_more_sol_than_held_is_insufficient_funds_or_gas(client: ChainClient, wallet: Keypair) -> None:
    for lamports, refusal in ((SOL + 5, Refusal.INSUFFICIENT_FUNDS), (SOL, Refusal.INSUFFICIENT_GAS)):
        move = transfer(
            TransferParams(
                from_pubkey=wallet.pubkey(), to_pubkey=Pubkey.from_string(new_address()), lamports=lamports
            )
        )
        for action in (whole([move], wallet), bare([move])):
            error = rejection(client, action, wallet, token="", amount=lamports)
            assert (error.refusal, error.missing) == (refusal, 5 if lamports > SOL else 5_000)


def test_no_sol_for_fee_or_deposit_is_insufficient_gas(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    for lamports in (0, 900_000):
        poor = local_ledger.new_wallet(lamports=lamports, usdc=UNIT)
        moves = local_ledger.token_move(new_address(), UNIT, sender=poor)
        for action in (whole(moves, poor), bare(moves)):
            error = rejection(client, action, poor, token=local_ledger.usdc, amount=UNIT)
            assert error.refusal == Refusal.INSUFFICIENT_GAS
            assert error.missing > 0


def test_wallet_below_rent_exemption_is_insufficient_gas(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    poor = local_ledger.new_wallet(lamports=SOL)
    move = transfer(
        TransferParams(from_pubkey=poor.pubkey(), to_pubkey=local_ledger.key.pubkey(), lamports=SOL - 100_000)
    )
    for action in (whole([move], poor), bare([move])):
        error = rejection(client, action, poor, token="", amount=SOL - 100_000)
        assert error.refusal == Refusal.INSUFFICIENT_GAS
        assert error.missing > 0


def test_missing_priority_fee_is_insufficient_gas(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    """The simulated instructions set no price for compute units. The returned transaction does."""

    def leaving(lamports: int) -> SolanaInstructions:
        return bare([_coins(wallet.pubkey(), local_ledger.key.pubkey(), SOL - 5_000 - lamports)])

    error = rejection(client, leaving(LEAST), wallet, token="", amount=SOL - 5_000 - LEAST)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    assert 0 < error.missing < 1_000
    more = LEAST + 1_000
    built = prepared(client, leaving(more), wallet, token="", amount=SOL - 5_000 - more)
    local_ledger.sign_and_send(built, wallet)
    assert LEAST < local_ledger.balance(str(wallet.pubkey())) < more


def test_frozen_tokens_are_insufficient_funds(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    frozen = {"state": "frozen"}
    local_ledger.rpc("surfnet_setTokenAccount", str(wallet.pubkey()), local_ledger.usdc, frozen)
    moves = local_ledger.token_move(new_address(), UNIT, sender=wallet)
    error = rejection(client, whole(moves, wallet), wallet, token=local_ledger.usdc, amount=UNIT)
    assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, UNIT)


def test_transaction_that_would_fail_names_the_error(
    client: ChainClient, local_ledger: LocalLedger, wallet: Keypair
) -> None:
    broken = Instruction(TOKEN_PROGRAM_ID, b"\xfe", [AccountMeta(wallet.pubkey(), True, True)])
    for action in (whole([broken], wallet), bare([broken])):
        error = rejection(client, action, wallet, token=local_ledger.usdc, amount=1)
        assert error.refusal == Refusal.WOULD_FAIL
        assert "Error" in error.note


def test_preparing_without_simulation_needs_no_funds(client: ChainClient, local_ledger: LocalLedger) -> None:
    unfunded = Keypair()
    moves = local_ledger.token_move(new_address(), UNIT, sender=unfunded)
    for action in (whole(moves, unfunded), bare(moves)):
        built = client.prepare(
            action,
            sender=str(unfunded.pubkey()),
            spending=Spending(local_ledger.usdc, UNIT),
            simulate=False,
        )
        assert VersionedTransaction.from_bytes(base64.b64decode(str(built)))


def test_evm_call_is_rejected_on_solana(client: ChainClient, wallet: Keypair) -> None:
    assert (
        rejection(client, EvmCall("0x" + "11" * 20, b""), wallet, token="", amount=1).refusal
        == "transaction_would_fail"
    )


def _coins(source: Pubkey, target: Pubkey, lamports: int) -> Instruction:
    return transfer(TransferParams(from_pubkey=source, to_pubkey=target, lamports=lamports))


def _make_wrapped_sol(ledger: LocalLedger) -> None:
    """Create the mint of wrapped SOL, which every public cluster has from the start."""
    data = bytes(36) + bytes(8) + bytes([9, 1]) + bytes(36)
    account = {"lamports": SOL, "owner": str(TOKEN_PROGRAM_ID), "data": data.hex(), "executable": False}
    ledger.rpc("surfnet_setAccount", WRAPPED_SOL, account)
