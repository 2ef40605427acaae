"""A transfer that would fail is refused before it is signed, with what is missing or the node's own word."""

import base64
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from chains.client import ChainClient, ChainError, Refusal, TransferRefused
from chains.families import get_client
from chains.families.solana.unsigned_transfers import Budget
from chains.models import Chain, Token
from demo.solana import ledger as node_of
from tests.support.solana.accounts import give_away, open_account
from tests.support.solana.ledger import LocalLedger, new_address, token_account

LEAST = 890_880
"""Lamports without which an account of no data can't be kept."""
DEPOSIT = 2_039_280
"""What a token account costs whoever opens it."""


@pytest.fixture
def client(solana: Chain) -> ChainClient:
    return get_client(solana)


def refused(client: ChainClient, **order: Any) -> TransferRefused:
    with pytest.raises(TransferRefused) as error:
        client.build_transfer(**{"reference": bytes(16), "recipient": new_address(), **order})
    return error.value


def fee_of(transaction: str) -> int:
    """Return what a built transaction will cost in lamports, by its compute budget."""
    message = VersionedTransaction.from_bytes(base64.b64decode(transaction)).message
    limit, price = (int.from_bytes(bytes(i.data)[1:], "little") for i in message.instructions[:2])
    return Budget(limit, price).fee


def test_too_few_tokens(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9, usdc=4)
    order = {"token": local_ledger.usdc, "sender": str(wallet.pubkey())}
    error = refused(client, amount=10, **order)
    assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, 6)
    assert client.build_transfer(recipient=new_address(), amount=4, reference=bytes(16), **order)


def test_no_token_account_at_all(client: ChainClient, local_ledger: LocalLedger) -> None:
    error = refused(client, token=local_ledger.usdc, sender=new_address(), amount=10)
    assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, 10)


def test_too_little_coin(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9)
    error = refused(client, token="", sender=str(wallet.pubkey()), amount=10**9 + 5)
    assert (error.refusal, error.missing) == (Refusal.INSUFFICIENT_FUNDS, 5)


def test_no_coin_for_the_fee(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9)
    error = refused(client, token="", sender=str(wallet.pubkey()), amount=10**9)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    assert LEAST + 5_000 < error.missing < LEAST + 10_000


def test_no_coin_for_the_recipients_new_token_account(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=LEAST + 20_000, usdc=10)
    order = {"token": local_ledger.usdc, "sender": str(wallet.pubkey()), "amount": 10}
    error = refused(client, **order)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    assert DEPOSIT - 20_000 + 5_000 < error.missing < DEPOSIT - 20_000 + 10_000
    assert client.build_transfer(recipient=local_ledger.payer, reference=bytes(16), **order)


def test_what_would_leave_the_payer_too_little_to_be_kept(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9)
    error = refused(client, token="", sender=str(wallet.pubkey()), amount=10**9 - LEAST)
    assert error.refusal == Refusal.INSUFFICIENT_GAS
    assert 5_000 < error.missing < 10_000


def test_a_wallet_may_be_emptied_to_the_last_lamport(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9)
    order = {"token": "", "sender": str(wallet.pubkey())}
    fee = fee_of(
        str(client.build_transfer(recipient=new_address(), amount=10**8, reference=bytes(16), **order))
    )
    built = client.build_transfer(recipient=new_address(), amount=10**9 - fee, reference=bytes(16), **order)
    local_ledger.sign_and_send(str(built), wallet)
    assert local_ledger.balance(str(wallet.pubkey())) == 0


def test_what_would_leave_the_recipient_too_little_to_be_kept(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    error = refused(client, token="", sender=local_ledger.payer, amount=LEAST - 1)
    assert error.refusal == Refusal.WOULD_FAIL
    assert "Rent" in error.note
    order = {"token": "", "sender": local_ledger.payer, "recipient": new_address(), "reference": None}
    assert client.build_transfer(amount=LEAST, **order)


def test_a_recipients_token_account_that_is_somebody_elses_by_now(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    owner = local_ledger.new_wallet(lamports=10**9, usdc=1)
    account = token_account(str(owner.pubkey()))
    local_ledger.send([give_away(account, owner, new_address())], local_ledger.key, owner)
    order = {"token": local_ledger.usdc, "sender": local_ledger.payer, "amount": 5}
    assert refused(client, recipient=str(owner.pubkey()), **order).refusal == Refusal.WOULD_FAIL


def test_tokens_are_taken_from_the_account_that_holds_the_most(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9, usdc=3)
    sender, recipient = str(wallet.pubkey()), new_address()
    second = open_account(local_ledger, sender)
    local_ledger.send(local_ledger.token_move(sender, 50, to_account=second))
    order = {"token": local_ledger.usdc, "sender": sender, "recipient": recipient}
    built = client.build_transfer(amount=40, reference=bytes(16), **order)
    local_ledger.sign_and_send(str(built), wallet)
    assert (local_ledger.token_balance(recipient), local_ledger.token_balance(sender)) == (40, 3)
    assert refused(client, amount=11, **order).missing == 1


def test_what_is_no_mint_is_an_error_of_the_catalogue(client: ChainClient, local_ledger: LocalLedger) -> None:
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


def test_another_key_than_the_payers_does_not_make_it_valid(
    client: ChainClient, local_ledger: LocalLedger, solana_usdc: Token
) -> None:
    recipient = new_address()
    built = client.build_transfer(
        token=local_ledger.usdc, sender=local_ledger.payer, recipient=recipient, amount=5, reference=None
    )
    with pytest.raises(node_of.LedgerRefusal):
        local_ledger.sign_and_send(str(built), Keypair())
    assert local_ledger.token_balance(recipient) == 0
