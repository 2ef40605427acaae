"""An instruction's own data shows what it would take from a wallet. Anything that can't be read counts as unknown."""

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import (
    CreateAccountParams,
    CreateAccountWithSeedParams,
    TransferParams,
    TransferWithSeedParams,
    create_account,
    create_account_with_seed,
    transfer,
    transfer_with_seed,
)
from spl.token import instructions as spl
from spl.token.constants import TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.models import (
    ApproveCheckedParams,
    BurnCheckedParams,
    CloseAccountParams,
    RevokeParams,
    SyncNativeParams,
    TransferCheckedParams,
)
from spl.token.models import (
    TransferParams as TokenTransferParams,
)

from chains.families.solana.vetting.debits import ASSOCIATED_TOKEN, Debit, DebitKind, debits
from chains.families.solana.vetting.messages import COMPUTE_BUDGET, message_of
from tests.support.solana.actions import bare, memo

OWNER, THIEF, MINT, SOURCE, TARGET = (Keypair().pubkey() for _ in range(5))
SYSTEM = Pubkey.from_string("11111111111111111111111111111111")


def taken(*instructions: Instruction) -> list[Debit]:
    return debits(message_of(bare(instructions), str(OWNER)), str(OWNER))


def by_owner(program: Pubkey, data: bytes, *others: Pubkey) -> Instruction:
    """Return a call that gives a program the wallet's signature."""
    return Instruction(
        program, data, [*(AccountMeta(key, False, True) for key in others), AccountMeta(OWNER, True, True)]
    )


@pytest.mark.parametrize("program", [TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID], ids=["classic", "token-2022"])
def test_tokens_and_rights_over_them(program: Pubkey) -> None:
    checked = TransferCheckedParams(
        program_id=program, source=SOURCE, mint=MINT, dest=TARGET, owner=OWNER, amount=5, decimals=6
    )
    plain = TokenTransferParams(program_id=program, source=SOURCE, dest=TARGET, owner=OWNER, amount=6)
    approve = ApproveCheckedParams(
        program_id=program, source=SOURCE, mint=MINT, delegate=THIEF, owner=OWNER, amount=7, decimals=6
    )
    burn = BurnCheckedParams(program_id=program, account=SOURCE, mint=MINT, owner=OWNER, amount=8, decimals=6)
    found = taken(
        spl.transfer_checked(checked),
        spl.transfer(plain),
        spl.approve_checked(approve),
        spl.burn_checked(burn),
    )
    name, source, target, mint = str(program), str(SOURCE), str(TARGET), str(MINT)
    assert found == [
        Debit(DebitKind.TOKENS, name, "transfer_checked", 5, source, target, mint),
        Debit(DebitKind.TOKENS, name, "transfer", 6, source, target),
        Debit(DebitKind.AUTHORITY, name, "approve_checked", 7, source, str(THIEF), mint),
        Debit(DebitKind.TOKENS, name, "burn_checked", 8, source, None, mint),
    ]


def test_lamports() -> None:
    new = CreateAccountParams(from_pubkey=OWNER, to_pubkey=TARGET, lamports=5, space=9, owner=THIEF)
    seeded = CreateAccountWithSeedParams(
        from_pubkey=OWNER, to_pubkey=TARGET, base=OWNER, seed="sëed", lamports=6, space=9, owner=THIEF
    )
    move = TransferParams(from_pubkey=OWNER, to_pubkey=THIEF, lamports=7)
    from_seed = TransferWithSeedParams(
        from_pubkey=SOURCE, from_base=OWNER, from_seed="s", from_owner=SYSTEM, to_pubkey=THIEF, lamports=8
    )
    found = taken(
        create_account(new), create_account_with_seed(seeded), transfer(move), transfer_with_seed(from_seed)
    )
    name, owner = str(SYSTEM), str(OWNER)
    assert found == [
        Debit(DebitKind.LAMPORTS, name, "create_account", 5, owner, str(TARGET)),
        Debit(DebitKind.LAMPORTS, name, "create_account_with_seed", 6, owner, str(TARGET)),
        Debit(DebitKind.LAMPORTS, name, "transfer", 7, owner, str(THIEF)),
        Debit(DebitKind.LAMPORTS, name, "transfer_with_seed", 8, str(SOURCE), str(THIEF)),
    ]


def test_what_takes_nothing() -> None:
    closing = CloseAccountParams(program_id=TOKEN_PROGRAM_ID, account=SOURCE, dest=OWNER, owner=OWNER)
    assert not taken(
        memo("id"),
        spl.create_idempotent_associated_token_account(OWNER, THIEF, MINT, TOKEN_PROGRAM_ID),
        spl.create_associated_token_account(OWNER, THIEF, MINT, TOKEN_PROGRAM_ID),
        spl.sync_native(SyncNativeParams(program_id=TOKEN_PROGRAM_ID, account=SOURCE)),
        spl.revoke(RevokeParams(program_id=TOKEN_PROGRAM_ID, account=SOURCE, owner=OWNER)),
        spl.close_account(closing),
        transfer(TransferParams(from_pubkey=THIEF, to_pubkey=OWNER, lamports=5)),
        by_owner(Pubkey.from_string(COMPUTE_BUDGET), b"\x02"),
    )


def test_program_without_the_wallet_account_debits_nothing() -> None:
    assert not taken(Instruction(THIEF, b"", [AccountMeta(SOURCE, False, True)]))
    [call] = taken(Instruction(THIEF, b"", [AccountMeta(OWNER, False, False)]))
    assert call == Debit(DebitKind.UNKNOWN, str(THIEF), "call")


def test_an_account_closed_to_somebody_else() -> None:
    closing = CloseAccountParams(program_id=TOKEN_PROGRAM_ID, account=SOURCE, dest=THIEF, owner=OWNER)
    [taking] = taken(spl.close_account(closing))
    assert (taking.kind, taking.what, taking.amount) == (DebitKind.LAMPORTS, "close_account", None)
    assert (taking.account, taking.to) == (str(SOURCE), str(THIEF))


@pytest.mark.parametrize("program", [SYSTEM, TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID], ids=str)
def test_only_listed_instructions_given_the_wallet_are_harmless(program: Pubkey) -> None:
    """An instruction begins with a number. Only the numbers known to take nothing are accepted."""
    harmless = {1, 5, 9, 16, 17, 18, 22}
    for number in range(256):
        code = number.to_bytes(4, "little") if program == SYSTEM else bytes([number])
        # The wallet is at the place that receives a closed account's lamports, and at the place of the
        # lamports' source.
        accounts = [AccountMeta(OWNER, True, True)] * 4
        for data in (code, code + bytes(80)):
            passed = not taken(Instruction(program, data, accounts))
            assert passed == (program != SYSTEM and number in harmless), number
        assert taken(by_owner(program, code)) or number in harmless


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x02\0", b"\xff" * 4, b"\x02\0\0\0" + bytes(7)])
def test_what_is_cut_short_is_unknown(data: bytes) -> None:
    assert [taking.kind for taking in taken(by_owner(SYSTEM, data))] == [DebitKind.UNKNOWN]
    recovery = by_owner(Pubkey.from_string(ASSOCIATED_TOKEN), b"\x02")
    assert [taking.kind for taking in taken(recovery)] == [DebitKind.UNKNOWN]
