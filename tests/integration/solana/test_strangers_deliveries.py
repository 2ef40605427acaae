"""Programs deliver money next to a claimant's own transfer, or with a stranger's accounts. It is never the claimant's.

The programs are real and make the same calls as bridges and routers.
"""

import os
import struct

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from spl.token import instructions as spl
from spl.token.constants import TOKEN_2022_PROGRAM_ID
from spl.token.models import (
    InitializeMintParams,
)

from chains.client import ChainClient, Transfer
from chains.families.solana.transactions.wallet_programs import SQUADS_V4, anchor_code
from chains.models import Token
from demo.solana import mint
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.support.payments.world import make_request
from tests.support.solana.ledger import LocalLedger, new_address, token_account, with_references
from tests.support.solana.programs import Vault, plant_approving, smuggled
from tests.support.solana.world import decide

Status = PaymentRequest.Status
ELEVEN = 11_000_000


@pytest.fixture
def reference() -> bytes:
    return os.urandom(16)


@pytest.fixture
def recipient(local_ledger: LocalLedger) -> str:
    """A merchant's wallet whose token account already has a balance."""
    return str(local_ledger.new_wallet(usdc=3).pubkey())


@pytest.fixture
def bridge(local_ledger: LocalLedger) -> Keypair:
    """A bridge's custody account. Anyone can have it complete a delivery."""
    return local_ledger.new_wallet(lamports=10**9, usdc=50_000_000)


def to(client: ChainClient, signature: str, recipient: str, token: str) -> list[Transfer]:
    facts = client.look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    assert facts.succeeded
    assert facts.is_complete
    return [moved for moved in facts.transfers if (moved.recipient, moved.token) == (recipient, token)]


def completion(ledger: LocalLedger, bridge: Keypair, recipient: str, amount: int = ELEVEN) -> Instruction:
    """Return an instruction: a program releases the money that a bridge holds for the recipient."""
    [move] = ledger.token_move(recipient, amount, sender=bridge, to_account=token_account(recipient))
    return smuggled(ledger, move, b"complete")


@pytest.mark.usefixtures("each_ledger_kind")
def test_transfer_of_nothing_claims_no_delivery(
    merchant: Merchant,
    solana_usdc: Token,
    client: ChainClient,
    local_ledger: LocalLedger,
    recipient: str,
    bridge: Keypair,
) -> None:
    request = make_request(merchant, solana_usdc, "11", recipient)
    [empty] = local_ledger.token_move(
        recipient, 0, bytes(request.reference), to_account=token_account(recipient)
    )
    delivery = completion(local_ledger, bridge, recipient)
    signature = local_ledger.send([empty, delivery], local_ledger.key, bridge)
    payment = decide(local_ledger, request, signature)
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_bound")
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0
    [delivered] = to(client, signature, recipient, local_ledger.usdc)
    assert (delivered.slot, delivered.amount, delivered.gain) == ("1.0", ELEVEN, ELEVEN)
    assert delivered.sender == str(bridge.pubkey())


@pytest.mark.usefixtures("each_ledger_kind")
def test_reference_added_by_a_program_binds_nothing(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, recipient: str, bridge: Keypair
) -> None:
    request = make_request(merchant, solana_usdc, "11", recipient)
    [move] = local_ledger.token_move(
        recipient, ELEVEN, bytes(request.reference), sender=bridge, to_account=token_account(recipient)
    )
    signature = local_ledger.send([smuggled(local_ledger, move, b"forward")], local_ledger.key, bridge)
    payment = decide(local_ledger, request, signature)
    assert payment.failure_code == "transaction_not_bound"
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0


def test_token_with_a_hook_pays_by_its_top_level_transfer(
    client: ChainClient, local_ledger: LocalLedger, reference: bytes
) -> None:
    hook, recipient = plant_approving(local_ledger), new_address()
    token = _hooked_mint(local_ledger, hook)
    [create, move] = local_ledger.token_move(recipient, 5, token=str(token), program=TOKEN_2022_PROGRAM_ID)
    called = AccountMeta(hook, is_signer=False, is_writable=False)
    hooked = Instruction(move.program_id, move.data, [*move.accounts, called])
    signature = local_ledger.send([create, with_references(hooked, reference)])
    [moved] = to(client, signature, recipient, str(token))
    assert (moved.slot, moved.references, moved.claimable) == ("1", (reference,), 5)
    assert moved.made_by == local_ledger.payer


def test_vault_payment_by_a_wallet_program_is_bound(
    merchant: Merchant,
    solana_usdc: Token,
    client: ChainClient,
    local_ledger: LocalLedger,
    recipient: str,
) -> None:
    """A test program, deployed at the wallet program's address, executes an approved transaction."""
    request = make_request(merchant, solana_usdc, "11", recipient)
    wallet, multisig = Pubkey.from_string(SQUADS_V4), Keypair().pubkey()
    seeds = (b"multisig", bytes(multisig), b"vault", b"\0")
    address, bump = Pubkey.find_program_address(list(seeds), wallet)
    mint.mint_to(local_ledger.url, mint.MINT.pubkey(), address, 2 * ELEVEN)
    [move] = local_ledger.token_move(
        recipient, ELEVEN, bytes(request.reference), to_account=token_account(recipient)
    )
    source, owned = token_account(str(address)), AccountMeta(address, is_signer=True, is_writable=False)
    accounts = [AccountMeta(source, is_signer=False, is_writable=True), *move.accounts[1:]]
    accounts[3] = owned
    execute = smuggled(
        local_ledger,
        Instruction(move.program_id, move.data, accounts),
        anchor_code("vault_transaction_execute"),
        program=wallet,
        first=multisig,
        vault=Vault(address, (*seeds, bytes([bump]))),
    )
    signature = local_ledger.send([execute])
    [moved] = to(client, signature, recipient, local_ledger.usdc)
    assert (moved.made_by, moved.claimable) == (str(address), ELEVEN)
    decide(local_ledger, request, signature)
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, ELEVEN)
    assert ConsumedTransfer.objects.get().slot == "0.0"


def _hooked_mint(ledger: LocalLedger, hook: Pubkey) -> Pubkey:
    """Create a Token-2022 mint whose transfers call `hook`; mint some to the payer."""
    new, key, size = Keypair(), ledger.key, 234
    space = create_account(
        CreateAccountParams(
            from_pubkey=key.pubkey(),
            to_pubkey=new.pubkey(),
            lamports=ledger.rpc("getMinimumBalanceForRentExemption", size),
            space=size,
            owner=TOKEN_2022_PROGRAM_ID,
        )
    )
    hooking = Instruction(
        TOKEN_2022_PROGRAM_ID,
        struct.pack("<BB32s32s", 36, 0, bytes(key.pubkey()), bytes(hook)),
        [AccountMeta(new.pubkey(), is_signer=False, is_writable=True)],
    )
    initialize = spl.initialize_mint(
        InitializeMintParams(
            program_id=TOKEN_2022_PROGRAM_ID, mint=new.pubkey(), mint_authority=key.pubkey(), decimals=6
        )
    )
    ledger.send([space, hooking, initialize], key, new)
    mint.mint_to(ledger.url, new.pubkey(), key.pubkey(), 1000, authority=key, program=TOKEN_2022_PROGRAM_ID)
    return new.pubkey()
