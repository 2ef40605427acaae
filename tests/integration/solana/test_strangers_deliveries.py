"""What programs deliver beside a claimant's own transfer, or with a stranger's accounts, is never the claimant's.

The programs are real: they make the calls that bridges and routers make.
"""

import os
import struct

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from spl.token import instructions as spl
from spl.token.constants import ACCOUNT_LEN, TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.models import (
    ApproveParams,
    InitializeAccountParams,
    InitializeMintParams,
    MintToParams,
)

from chains.client import ChainClient, Transfer
from chains.families.solana.transactions.wallet_programs import SQUADS_V4, anchor_code
from chains.models import Token
from demo.solana import mint
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.support.payments.world import make_request
from tests.support.solana.accounts import make_fee_mint, open_account
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
    """A merchant's wallet, which has a token account with something in it."""
    return str(local_ledger.new_wallet(usdc=3).pubkey())


@pytest.fixture
def bridge(local_ledger: LocalLedger) -> Keypair:
    """A bridge's custody: anyone may have it complete a delivery."""
    return local_ledger.new_wallet(lamports=10**9, usdc=50_000_000)


def to(client: ChainClient, signature: str, recipient: str, token: str) -> list[Transfer]:
    facts = client.look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    assert facts.succeeded
    assert facts.is_complete
    return [moved for moved in facts.transfers if (moved.recipient, moved.token) == (recipient, token)]


def completion(ledger: LocalLedger, bridge: Keypair, recipient: str, amount: int = ELEVEN) -> Instruction:
    """A program releases what a bridge holds for the recipient."""
    [move] = ledger.token_move(recipient, amount, sender=bridge, to_account=token_account(recipient))
    return smuggled(ledger, move, b"complete")


def minting(ledger: LocalLedger, recipient: str, amount: int = ELEVEN) -> Instruction:
    """A program mints what was burned elsewhere."""
    params = MintToParams(
        program_id=TOKEN_PROGRAM_ID,
        mint=Pubkey.from_string(ledger.usdc),
        dest=token_account(recipient),
        mint_authority=mint.MINT_AUTHORITY.pubkey(),
        amount=amount,
    )
    return smuggled(ledger, spl.mint_to(params), b"receive message")


@pytest.mark.usefixtures("each_ledger_kind")
@pytest.mark.parametrize("is_minted", [True, False])
def test_a_transfer_of_nothing_claims_no_delivery_that_it_triggers(
    merchant: Merchant,
    solana_usdc: Token,
    client: ChainClient,
    local_ledger: LocalLedger,
    recipient: str,
    bridge: Keypair,
    is_minted: bool,
) -> None:
    request = make_request(merchant, solana_usdc, "11", recipient)
    [empty] = local_ledger.token_move(
        recipient, 0, bytes(request.reference), to_account=token_account(recipient)
    )
    delivery = minting(local_ledger, recipient) if is_minted else completion(local_ledger, bridge, recipient)
    custody = mint.MINT_AUTHORITY if is_minted else bridge
    signature = local_ledger.send([empty, delivery], local_ledger.key, custody)
    payment = decide(local_ledger, request, signature)
    assert (payment.status, payment.failure_code) == (Payment.Status.FAILED, "transaction_not_bound")
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0
    [delivered] = to(client, signature, recipient, local_ledger.usdc)
    assert (delivered.slot, delivered.amount, delivered.gain) == ("1.0", ELEVEN, ELEVEN)
    assert delivered.sender == ("" if is_minted else str(bridge.pubkey()))


@pytest.mark.usefixtures("each_ledger_kind")
def test_a_small_transfer_beside_a_delivery_is_credited_with_itself_alone(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, recipient: str, bridge: Keypair
) -> None:
    request = make_request(merchant, solana_usdc, "11", recipient)
    move = local_ledger.token_move(recipient, 1, bytes(request.reference))
    signature = local_ledger.send(
        [*move, completion(local_ledger, bridge, recipient)], local_ledger.key, bridge
    )
    decide(local_ledger, request, signature)
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.ACTIVE, 1)
    assert ConsumedTransfer.objects.get().slot == "1"


@pytest.mark.usefixtures("each_ledger_kind")
def test_a_reference_that_a_program_puts_on_a_strangers_transfer_binds_nothing(
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


@pytest.mark.usefixtures("each_ledger_kind")
def test_what_a_program_moves_with_a_wallets_signature_is_not_made_by_that_wallet(
    client: ChainClient, local_ledger: LocalLedger, recipient: str, bridge: Keypair
) -> None:
    """As a relayer's wallet fills a stranger's order through a program."""
    signature = local_ledger.send([completion(local_ledger, bridge, recipient)], local_ledger.key, bridge)
    [moved] = to(client, signature, recipient, local_ledger.usdc)
    assert (moved.sender, moved.made_by, moved.claimable) == (str(bridge.pubkey()), "", 0)
    direct = local_ledger.send(local_ledger.token_move(recipient, 5, sender=bridge), bridge)
    [moved] = to(client, direct, recipient, local_ledger.usdc)
    assert (moved.made_by, moved.claimable) == (str(bridge.pubkey()), 5)


def test_a_fee_that_a_delivery_makes_up_for_is_not_claimed(
    client: ChainClient, local_ledger: LocalLedger, reference: bytes
) -> None:
    token, recipient = make_fee_mint(local_ledger, holder_units=10**9), new_address()
    target = token_account(recipient, token, TOKEN_2022_PROGRAM_ID)
    minted = spl.mint_to(
        MintToParams(
            program_id=TOKEN_2022_PROGRAM_ID,
            mint=Pubkey.from_string(token),
            dest=target,
            mint_authority=local_ledger.key.pubkey(),
            amount=10,
        )
    )
    [create, move] = local_ledger.token_move(
        recipient, 1000, reference, token=token, program=TOKEN_2022_PROGRAM_ID
    )
    local_ledger.send([create])
    signature = local_ledger.send([move, smuggled(local_ledger, minted, b"refill")])
    found = [(t.amount, t.gain, t.claimable) for t in to(client, signature, recipient, token)]
    assert found == [(990, 1000, 990), (10, 1000, 0)]


def test_an_account_that_the_payer_opens_for_the_recipient_is_not_the_recipients_own(
    client: ChainClient, local_ledger: LocalLedger, recipient: str, reference: bytes
) -> None:
    account, key = Keypair(), local_ledger.key
    space = create_account(
        CreateAccountParams(
            from_pubkey=key.pubkey(),
            to_pubkey=account.pubkey(),
            lamports=local_ledger.rpc("getMinimumBalanceForRentExemption", ACCOUNT_LEN),
            space=ACCOUNT_LEN,
            owner=TOKEN_PROGRAM_ID,
        )
    )
    initialize = spl.initialize_account(
        InitializeAccountParams(
            program_id=TOKEN_PROGRAM_ID,
            account=account.pubkey(),
            mint=Pubkey.from_string(local_ledger.usdc),
            owner=Pubkey.from_string(recipient),
        )
    )
    [move] = local_ledger.token_move(recipient, ELEVEN, reference, to_account=account.pubkey())
    signature = local_ledger.send([space, initialize, move], key, account)
    [moved] = to(client, signature, recipient, local_ledger.usdc)
    assert (moved.gain, moved.claimable) == (ELEVEN, 0)


def test_the_recipients_own_money_sent_round_claims_nothing(
    client: ChainClient, local_ledger: LocalLedger, reference: bytes
) -> None:
    owner = local_ledger.new_wallet(lamports=10**9, usdc=20)
    recipient = str(owner.pubkey())
    second = open_account(local_ledger, recipient)
    out = local_ledger.token_move(local_ledger.payer, 20, sender=owner)
    back = local_ledger.token_move(recipient, 20, reference, to_account=second)
    signature = local_ledger.send([*out, *back], local_ledger.key, owner)
    [moved] = to(client, signature, recipient, local_ledger.usdc)
    assert (moved.gain, moved.claimable) == (20, 0)


def test_what_a_delegate_moves_is_not_made_by_the_delegate(
    client: ChainClient, local_ledger: LocalLedger, recipient: str, bridge: Keypair, reference: bytes
) -> None:
    delegate, source = local_ledger.new_wallet(lamports=10**9), token_account(str(bridge.pubkey()))
    approve = ApproveParams(
        program_id=TOKEN_PROGRAM_ID,
        source=source,
        delegate=delegate.pubkey(),
        owner=bridge.pubkey(),
        amount=100,
    )
    local_ledger.send([spl.approve(approve)], bridge)
    [move] = local_ledger.token_move(
        recipient, 5, reference, sender=bridge, to_account=token_account(recipient)
    )
    accounts = [
        AccountMeta(delegate.pubkey(), is_signer=True, is_writable=False)
        if meta.pubkey == bridge.pubkey()
        else meta
        for meta in move.accounts
    ]
    signature = local_ledger.send([Instruction(move.program_id, move.data, accounts)], delegate)
    [moved] = to(client, signature, recipient, local_ledger.usdc)
    assert (moved.sender, moved.made_by) == (str(bridge.pubkey()), "")
    assert (moved.references, moved.claimable) == ((reference,), 5)


def test_a_token_with_a_hook_pays_by_its_top_level_transfer(
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


def test_a_vaults_payment_through_a_wallet_program_is_bound_by_its_reference(
    merchant: Merchant,
    solana_usdc: Token,
    client: ChainClient,
    local_ledger: LocalLedger,
    recipient: str,
) -> None:
    """A program of our own at the wallet program's address does what that one does with an approved transaction."""
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
    """Make a Token-2022 mint whose transfers call `hook`, and give the payer some."""
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
