"""On Solana, wallets and vaults can be recipients. Mints, programs and token accounts can't.

Money sent to a program, or to a token account derived for a token account, is lost for good.
"""

import pytest
from solders.pubkey import Pubkey

from chains.client import Refusal, TransferRefused
from chains.families import AddressError, family_of, get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import PaymentRequest
from tests.conftest import Api
from tests.support.payments.world import make_request
from tests.support.solana.ledger import LocalLedger, token_account
from tests.support.solana.world import built_for, decide

Status = PaymentRequest.Status
TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
ATA_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL"
CLOCK = "SysvarC1ock11111111111111111111111111111111"
RENT = "SysvarRent111111111111111111111111111111111"


@pytest.fixture
def vault() -> str:
    """An address that a program derives and signs for, like a multisig's vault."""
    address, _ = Pubkey.find_program_address([b"vault", bytes(32)], Pubkey.from_string(ATA_PROGRAM))
    assert not address.is_on_curve()
    return str(address)


@pytest.mark.parametrize(
    ("address", "word"),
    [
        (TOKEN_PROGRAM, "program"),
        (RENT, "sysvar"),
    ],
)
def test_programs_and_sysvars_are_no_recipients(solana: Chain, address: str, word: str) -> None:
    assert word in (get_client(solana).recipient_problem(address) or "")


def test_mints_and_token_accounts_are_no_recipients(solana: Chain, local_ledger: LocalLedger) -> None:
    client = get_client(solana)
    account = str(token_account(local_ledger.payer))
    assert "mint" in (client.recipient_problem(local_ledger.usdc) or "")
    assert "token account" in (client.recipient_problem(account) or "")


@pytest.mark.parametrize(
    ("address", "word"),
    [("1" * 32, "System Program"), ("1nc1nerator11111111111111111111111111111111", "incinerator")],
)
def test_system_and_burn_addresses_are_rejected_by_form(address: str, word: str) -> None:
    with pytest.raises(AddressError, match=word):
        family_of("solana").normalise_address(address)


def test_request_to_an_address_that_is_no_wallet_is_rejected(
    api: Api, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    order = {"amount": "2", "token_id": solana_usdc.id, "chain_id": solana_usdc.chain_id}
    account = str(token_account(local_ledger.payer))
    for recipient in (account, local_ledger.usdc, "1" * 32, TOKEN_PROGRAM, ATA_PROGRAM, CLOCK):
        answer = api.post("/api/payment-requests", {**order, "recipient_address": recipient})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "address_invalid")
    assert PaymentRequest.objects.count() == 0


def test_no_transaction_is_built_to_an_address_of_no_wallet(
    solana: Chain, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    client = get_client(solana)
    for recipient in (local_ledger.usdc, TOKEN_PROGRAM, str(token_account(local_ledger.payer))):
        for token in ("", local_ledger.usdc):
            with pytest.raises(TransferRefused) as error:
                client.build_transfer(
                    token=token,
                    sender=local_ledger.payer,
                    recipient=recipient,
                    amount=10**9,
                    reference=bytes(16),
                )
            assert error.value.refusal == Refusal.WOULD_FAIL


def test_payment_to_a_vault_completes(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, vault: str
) -> None:
    request = make_request(merchant, solana_usdc, "2", vault)
    decide(local_ledger, request, local_ledger.sign_and_send(built_for(request, local_ledger.payer)))
    request.refresh_from_db()
    assert (request.status, local_ledger.token_balance(vault)) == (Status.COMPLETED, 2_000_000)
