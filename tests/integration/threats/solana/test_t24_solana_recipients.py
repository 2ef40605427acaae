"""T-24: on Solana money goes to wallets, never to a mint, a program or a token account, and counts for its last owner.

A token account derived for a token account, or sent to a program, is lost for good.
"""

import pytest
from solders.pubkey import Pubkey

from chains.client import Refusal, TransferRefused
from chains.families import AddressError, family_of, get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, PaymentRequest
from tests.conftest import Api
from tests.support.payments.world import make_request
from tests.support.solana.accounts import give_away, open_account
from tests.support.solana.ledger import LocalLedger, new_address, token_account
from tests.support.solana.world import built_for, decide

Status = PaymentRequest.Status
TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
ATA_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
CLOCK = "SysvarC1ock11111111111111111111111111111111"
RENT = "SysvarRent111111111111111111111111111111111"


@pytest.fixture
def vault() -> str:
    """An address that a program derives and signs for, as a multisig's vault is."""
    address, _ = Pubkey.find_program_address([b"vault", bytes(32)], Pubkey.from_string(ATA_PROGRAM))
    assert not address.is_on_curve()
    return str(address)


@pytest.mark.parametrize(
    ("address", "word"),
    [
        (TOKEN_PROGRAM, "program"),
        (TOKEN_2022, "program"),
        (ATA_PROGRAM, "program"),
        (CLOCK, "sysvar"),
        (RENT, "sysvar"),
    ],
)
def test_programs_and_sysvars_are_refused(solana: Chain, address: str, word: str) -> None:
    assert word in (get_client(solana).recipient_problem(address) or "")


def test_mints_and_token_accounts_are_refused(solana: Chain, local_ledger: LocalLedger) -> None:
    client = get_client(solana)
    account = str(token_account(local_ledger.payer))
    assert "mint" in (client.recipient_problem(local_ledger.usdc) or "")
    assert "token account" in (client.recipient_problem(account) or "")


@pytest.mark.parametrize(
    ("address", "word"),
    [("1" * 32, "System Program"), ("1nc1nerator11111111111111111111111111111111", "incinerator")],
)
def test_what_belongs_to_nobody_is_refused_by_its_form_alone(address: str, word: str) -> None:
    with pytest.raises(AddressError, match=word):
        family_of("solana").normalise_address(address)


def test_a_request_to_what_is_no_wallet_is_not_made(
    api: Api, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    order = {"amount": "2", "token_id": solana_usdc.id, "chain_id": solana_usdc.chain_id}
    account = str(token_account(local_ledger.payer))
    for recipient in (account, local_ledger.usdc, "1" * 32, TOKEN_PROGRAM, ATA_PROGRAM, CLOCK):
        answer = api.post("/api/payment-requests", {**order, "recipient_address": recipient})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "address_invalid")
    assert PaymentRequest.objects.count() == 0


def test_wallets_and_vaults_are_accepted(solana: Chain, local_ledger: LocalLedger, vault: str) -> None:
    client = get_client(solana)
    for address in (vault, new_address(), local_ledger.payer):
        assert client.recipient_problem(address) is None


def test_no_transaction_is_built_to_what_is_no_wallet(
    solana: Chain, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    client = get_client(solana)
    for recipient in (local_ledger.usdc, TOKEN_PROGRAM, str(token_account(local_ledger.payer))):
        for token in ("", local_ledger.usdc):
            with pytest.raises(TransferRefused) as refused:
                client.build_transfer(
                    token=token,
                    sender=local_ledger.payer,
                    recipient=recipient,
                    amount=10**9,
                    reference=bytes(16),
                )
            assert refused.value.refusal == Refusal.WOULD_FAIL


def test_a_vault_is_paid(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, vault: str
) -> None:
    request = make_request(merchant, solana_usdc, "2", vault)
    decide(local_ledger, request, local_ledger.sign_and_send(built_for(request, local_ledger.payer)))
    request.refresh_from_db()
    assert (request.status, local_ledger.token_balance(vault)) == (Status.COMPLETED, 2_000_000)


def test_a_second_token_account_of_the_owner_counts_too(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    request = make_request(merchant, solana_usdc, "3", new_address())
    owner, reference = request.recipient_address, bytes(request.reference)
    second = open_account(local_ledger, owner)
    move = [
        *local_ledger.token_move(owner, 2_000_000, reference, to_account=second),
        *local_ledger.token_move(owner, 1_000_000, reference),
    ]
    decide(local_ledger, request, local_ledger.send(move))
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, 3_000_000)
    assert set(ConsumedTransfer.objects.values_list("slot", flat=True)) == {"0", "2"}


def test_what_changes_its_owner_in_the_same_transaction_is_not_the_old_owners(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    owner, heir = local_ledger.new_wallet(lamports=10**9), new_address()
    request = make_request(merchant, solana_usdc, "2", str(owner.pubkey()))
    account = open_account(local_ledger, request.recipient_address)
    move = local_ledger.token_move(
        request.recipient_address, 2_000_000, bytes(request.reference), to_account=account
    )
    signature = local_ledger.send([*move, give_away(account, owner, heir)], local_ledger.key, owner)
    payment = decide(local_ledger, request, signature)
    assert payment.failure_code == "wrong_recipient"
    assert heir in payment.failure_message
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0


def test_moving_the_owners_own_money_between_its_accounts_pays_nothing(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    owner = local_ledger.new_wallet(lamports=10**9, usdc=5_000_000)
    request = make_request(merchant, solana_usdc, "2", str(owner.pubkey()))
    second = open_account(local_ledger, request.recipient_address)
    move = local_ledger.token_move(
        request.recipient_address, 2_000_000, bytes(request.reference), sender=owner, to_account=second
    )
    payment = decide(local_ledger, request, local_ledger.send(move, owner))
    assert payment.failure_code == "wrong_amount"
    assert ConsumedTransfer.objects.count() == 0
