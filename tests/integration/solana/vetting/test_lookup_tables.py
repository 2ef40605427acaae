"""A lookup table is read from the chain. It counts only while it is active."""

from dataclasses import replace

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from chains.client import ChainClient, Refusal, Spending, TransferRefused
from chains.families.solana.accounts import Account
from chains.families.solana.vetting.tables import read_table
from tests.support.solana.actions import bare, make_table, whole
from tests.support.solana.scene import PRICE, Scene

PROGRAM = "AddressLookupTab1e1111111111111111111111111"
KEYS = [Keypair().pubkey() for _ in range(2)]
HEAD = (1).to_bytes(4, "little") + (2**64 - 1).to_bytes(8, "little") + bytes(44)
SOUND = Account(1, PROGRAM, HEAD + b"".join(map(bytes, KEYS)), executable=False)


def test_keys_of_a_lookup_table_are_read_in_order() -> None:
    assert read_table(SOUND) == tuple(map(str, KEYS))
    assert read_table(replace(SOUND, data=HEAD)) == ()


@pytest.mark.parametrize(
    "account",
    [
        None,
        replace(SOUND, owner=str(KEYS[0])),
        replace(SOUND, data=b""),
        replace(SOUND, data=HEAD[:-1]),
        replace(SOUND, data=SOUND.data[:-1]),
        replace(SOUND, data=bytes(4) + SOUND.data[4:]),
        replace(SOUND, data=SOUND.data[:4] + (5).to_bytes(8, "little") + SOUND.data[12:]),
    ],
)
def test_account_that_is_no_active_table_is_rejected(account: Account | None) -> None:
    with pytest.raises(ValueError, match="lookup table"):
        read_table(account)


def test_lookup_table_that_is_closing_is_rejected(client: ChainClient, scene: Scene) -> None:
    moves = scene.honest()
    table = make_table(scene.ledger, [scene.ledger.usdc])
    spending = Spending(scene.ledger.usdc, PRICE)
    action = whole(moves, scene.wallet, tables=[table])
    assert client.prepare(action, sender=str(scene.owner), spending=spending)
    accounts = [AccountMeta(table.key, False, True), AccountMeta(scene.ledger.key.pubkey(), True, False)]
    scene.ledger.send([Instruction(Pubkey.from_string(PROGRAM), (3).to_bytes(4, "little"), accounts)])
    for made in (action, bare(moves, [str(table.key)])):
        with pytest.raises(TransferRefused) as error:
            client.prepare(made, sender=str(scene.owner), spending=spending)
        assert error.value.refusal == Refusal.WOULD_FAIL
        assert "closed" in error.value.note
