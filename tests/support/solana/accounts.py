"""Token accounts, and mints with extensions, created by tests."""

import struct

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from spl.token import instructions as spl
from spl.token.constants import ACCOUNT_LEN, TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.models import (
    AuthorityType,
    InitializeAccountParams,
    InitializeMintParams,
    InitializeTransferFeeConfigParams,
    SetAuthorityParams,
)

from demo.solana import mint
from tests.support.solana.ledger import LocalLedger

_REALLOCATE, _MEMO_TRANSFER, _ENABLE = 29, 30, 0  # instructions of Token-2022
_MEMO_TRANSFER_EXTENSION = 8
_INTEREST_BEARING, _SCALED_UI_AMOUNT, _INITIALIZE = 33, 43, 0
_EXTENSION_BYTES = {_INTEREST_BEARING: 52, _SCALED_UI_AMOUNT: 56}
_EXTENDED_BYTES = 170  # a mint with one empty extension
_FEE_MINT_BYTES = 278  # a mint with only the transfer fee extension
ONE_PERCENT = 100  # in basis points
_NO_LIMIT = 2**64 - 1


def open_account(ledger: LocalLedger, owner: str) -> Pubkey:
    """Open another token account for test USDC, which is not the owner's associated account."""
    account = Keypair()
    space = _space(ledger, account, ACCOUNT_LEN, TOKEN_PROGRAM_ID)
    initialize = spl.initialize_account(
        InitializeAccountParams(
            program_id=TOKEN_PROGRAM_ID,
            account=account.pubkey(),
            mint=Pubkey.from_string(ledger.usdc),
            owner=Pubkey.from_string(owner),
        )
    )
    ledger.send([space, initialize], ledger.key, account)
    return account.pubkey()


def give_away(account: Pubkey, owner: Keypair, to: str) -> Instruction:
    return spl.set_authority(
        SetAuthorityParams(
            program_id=TOKEN_PROGRAM_ID,
            account=account,
            authority=AuthorityType.ACCOUNT_OWNER,
            current_authority=owner.pubkey(),
            new_authority=Pubkey.from_string(to),
        )
    )


def memo_required(payer: Pubkey, owner: Pubkey, mint: Pubkey) -> list[Instruction]:
    """Return the instructions that make the owner's associated Token-2022 account reject transfers without a memo."""
    account = spl.get_associated_token_address(owner, mint, TOKEN_2022_PROGRAM_ID)
    own = AccountMeta(account, is_signer=False, is_writable=True)
    signs = AccountMeta(owner, is_signer=True, is_writable=False)
    pays = AccountMeta(payer, is_signer=True, is_writable=True)
    system = AccountMeta(Pubkey.default(), is_signer=False, is_writable=False)
    wider = bytes([_REALLOCATE, *_MEMO_TRANSFER_EXTENSION.to_bytes(2, "little")])
    return [
        Instruction(TOKEN_2022_PROGRAM_ID, wider, [own, pays, system, signs]),
        Instruction(TOKEN_2022_PROGRAM_ID, bytes([_MEMO_TRANSFER, _ENABLE]), [own, signs]),
    ]


def make_fee_mint(ledger: LocalLedger, *, holder_units: int) -> str:
    """Create a Token-2022 mint with 6 decimals that keeps 1 % of each transfer; mint some to the payer."""
    new, key = Keypair(), ledger.key
    space = _space(ledger, new, _FEE_MINT_BYTES, TOKEN_2022_PROGRAM_ID)
    fee = spl.initialize_transfer_fee_config(
        InitializeTransferFeeConfigParams(
            program_id=TOKEN_2022_PROGRAM_ID,
            mint=new.pubkey(),
            transfer_fee_config_authority=key.pubkey(),
            withdraw_withheld_authority=key.pubkey(),
            transfer_fee_basis_points=ONE_PERCENT,
            maximum_fee=_NO_LIMIT,
        )
    )
    initialize = spl.initialize_mint(
        InitializeMintParams(
            program_id=TOKEN_2022_PROGRAM_ID, mint=new.pubkey(), mint_authority=key.pubkey(), decimals=6
        )
    )
    ledger.send([space, fee, initialize], key, new)
    mint.mint_to(
        ledger.url,
        new.pubkey(),
        key.pubkey(),
        holder_units,
        authority=key,
        program=TOKEN_2022_PROGRAM_ID,
    )
    return str(new.pubkey())


def make_scaling_mint(ledger: LocalLedger, *, interest: bool) -> str:
    """Create a Token-2022 mint with 6 decimals.

    Its displayed amounts are twice the real ones, or grow with interest.
    """
    new, key = Keypair(), ledger.key
    kind = _INTEREST_BEARING if interest else _SCALED_UI_AMOUNT
    scale = struct.pack("<h", 500) if interest else struct.pack("<d", 2.0)
    space = _space(ledger, new, _EXTENDED_BYTES + _EXTENSION_BYTES[kind], TOKEN_2022_PROGRAM_ID)
    own = AccountMeta(new.pubkey(), is_signer=False, is_writable=True)
    extend = Instruction(
        TOKEN_2022_PROGRAM_ID, bytes([kind, _INITIALIZE]) + bytes(key.pubkey()) + scale, [own]
    )
    initialize = spl.initialize_mint(
        InitializeMintParams(
            program_id=TOKEN_2022_PROGRAM_ID, mint=new.pubkey(), mint_authority=key.pubkey(), decimals=6
        )
    )
    ledger.send([space, extend, initialize], key, new)
    return str(new.pubkey())


def _space(ledger: LocalLedger, account: Keypair, size: int, program: Pubkey) -> Instruction:
    return create_account(
        CreateAccountParams(
            from_pubkey=ledger.key.pubkey(),
            to_pubkey=account.pubkey(),
            lamports=ledger.rpc("getMinimumBalanceForRentExemption", size),
            space=size,
            owner=program,
        )
    )
