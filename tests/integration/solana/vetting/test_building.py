"""A transfer that would fail is not built. The error contains the missing amount, or the node's reason."""

import base64
from typing import Any

import pytest
from solders.transaction import VersionedTransaction

from chains.client import ChainClient, ChainError, Refusal, TransferRefused
from chains.families import get_client
from chains.families.solana.unsigned_transfers import Budget
from chains.models import Chain
from tests.support.solana.accounts import give_away, open_account
from tests.support.solana.ledger import LocalLedger, new_address, token_account

LEAST = 890_880
"""Lamports without which an account of no data can't be kept."""
DEPOSIT = 2_039_280
"""The deposit of a new token account."""


@pytest.fixture
def client(solana: Chain) -> ChainClient:
    return get_client(solana)


def rejection(client: ChainClient, **order: Any) -> TransferRefused:
    with pytest.raises(TransferRefused) as error:
        client.build_transfer(**{"reference": bytes(16), "recipient": new_address(), **order})
    return error.value


def fee_of(transaction: str) -> int:
    """Return a built transaction's cost in lamports, from its compute budget."""
    message = VersionedTransaction.from_bytes(base64.b64decode(transaction)).message
    limit, price = (int.from_bytes(bytes(i.data)[1:], "little") for i in message.instructions[:2])
    return Budget(limit, price).fee


def test_too_few_tokens_are_insufficient_funds(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9, usdc=4)
    order = {"token": local_ledger.usdc, "sender": str(wallet.pubkey())}
    error = rejection(client, amount=10, **order)
    assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, 6)
    assert client.build_transfer(recipient=new_address(), amount=4, reference=bytes(16), **order)


def test_too_little_sol_is_insufficient_funds(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9)
    error = rejection(client, token="", sender=str(wallet.pubkey()), amount=10**9 + 5)
    assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, 5)


def test_no_sol_for_the_fee_is_insufficient_gas(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9)
    error = rejection(client, token="", sender=str(wallet.pubkey()), amount=10**9)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    assert LEAST + 5_000 < error.missing < LEAST + 10_000


def test_no_sol_for_a_new_token_account_is_insufficient_gas(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    wallet = local_ledger.new_wallet(lamports=LEAST + 20_000, usdc=10)
    order = {"token": local_ledger.usdc, "sender": str(wallet.pubkey()), "amount": 10}
    error = rejection(client, **order)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    assert DEPOSIT - 20_000 + 5_000 < error.missing < DEPOSIT - 20_000 + 10_000
    assert client.build_transfer(recipient=local_ledger.payer, reference=bytes(16), **order)


def test_payer_below_rent_exemption_is_insufficient_gas(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9)
    error = rejection(client, token="", sender=str(wallet.pubkey()), amount=10**9 - LEAST)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    assert 5_000 < error.missing < 10_000


def test_wallet_may_send_its_last_lamport(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9)
    order = {"token": "", "sender": str(wallet.pubkey())}
    fee = fee_of(
        str(client.build_transfer(recipient=new_address(), amount=10**8, reference=bytes(16), **order))
    )
    built = client.build_transfer(recipient=new_address(), amount=10**9 - fee, reference=bytes(16), **order)
    local_ledger.sign_and_send(str(built), wallet)
    assert local_ledger.balance(str(wallet.pubkey())) == 0


def test_recipient_below_rent_exemption_would_fail(client: ChainClient, local_ledger: LocalLedger) -> None:
    error = rejection(client, token="", sender=local_ledger.payer, amount=LEAST - 1)
    assert error.refusal == Refusal.WOULD_FAIL
    assert "Rent" in error.note
    order = {"token": "", "sender": local_ledger.payer, "recipient": new_address(), "reference": None}
    assert client.build_transfer(amount=LEAST, **order)


def test_recipient_account_with_a_new_owner_would_fail(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    owner = local_ledger.new_wallet(lamports=10**9, usdc=1)
    account = token_account(str(owner.pubkey()))
    local_ledger.send([give_away(account, owner, new_address())], local_ledger.key, owner)
    order = {"token": local_ledger.usdc, "sender": local_ledger.payer, "amount": 5}
    assert rejection(client, recipient=str(owner.pubkey()), **order).refusal == Refusal.WOULD_FAIL


def test_tokens_are_sent_from_the_largest_account(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9, usdc=3)
    sender, recipient = str(wallet.pubkey()), new_address()
    second = open_account(local_ledger, sender)
    local_ledger.send(local_ledger.token_move(sender, 50, to_account=second))
    order = {"token": local_ledger.usdc, "sender": sender, "recipient": recipient}
    built = client.build_transfer(amount=40, reference=bytes(16), **order)
    local_ledger.sign_and_send(str(built), wallet)
    assert (local_ledger.token_balance(recipient), local_ledger.token_balance(sender)) == (40, 3)
    assert rejection(client, amount=14, **order).missing == 1


def test_address_that_is_no_mint_raises_chain_error(client: ChainClient, local_ledger: LocalLedger) -> None:
    with pytest.raises(ChainError):
        client.token_metadata([local_ledger.payer])
    with pytest.raises(ChainError):
        client.build_transfer(
            token=new_address(),
            sender=local_ledger.payer,
            recipient=new_address(),
            amount=1,
            reference=None,
        )
