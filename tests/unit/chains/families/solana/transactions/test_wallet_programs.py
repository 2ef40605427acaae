"""A wallet program's transfer from a vault counts like a top-level transfer, because its members approved it."""

import os
from dataclasses import dataclass

import pytest
from solders.pubkey import Pubkey

from chains.client import Transfer
from chains.families.solana.transactions.wallet_programs import SQUADS_V3, SQUADS_V4, anchor_code, is_vault
from tests.support.solana.answers import Call, Ledger, address, coins, minted, move, program

EXECUTE = {
    SQUADS_V3: ("execute_transaction", "execute_instruction"),
    SQUADS_V4: ("vault_transaction_execute", "batch_execute_transaction"),
}
EACH = [(wallet, name) for wallet, names in EXECUTE.items() for name in names]


def vault_of(wallet: str, multisig: str, index: int = 1) -> str:
    """Return the vault's address, derived from the program's own seeds."""
    key = bytes(Pubkey.from_string(multisig))
    seeds = {
        SQUADS_V3: [b"squad", key, index.to_bytes(4, "little"), b"authority"],
        SQUADS_V4: [b"multisig", key, b"vault", bytes([index])],
    }[wallet]
    return str(Pubkey.find_program_address(seeds, Pubkey.from_string(wallet))[0])


@dataclass
class Payment:
    """A vault pays a merchant 10 tokens with a reference. A member executes the payment."""

    wallet: str
    name: str
    multisig: str
    vault: str
    merchant: str
    mint: str
    reference: bytes
    ledger: Ledger
    source: str
    target: str

    def transfer(self, authority: str | None = None) -> Call:
        return move(self.source, self.mint, self.target, authority or self.vault, 10, self.reference)

    def executing(self, *inner: tuple[Call, int | None], data: bytes | None = None) -> Call:
        keys = [self.multisig, address(), address(), self.ledger.signers[0]]
        code = anchor_code(self.name) if data is None else data
        return Call(self.wallet, keys, code, inner)

    def read(self, *calls: Call) -> Transfer:
        [moved] = [t for t in self.ledger.transfers(*calls) if t.recipient == self.merchant]
        assert moved.amount == 10
        return moved


def payment_by(wallet: str, name: str, *, index: int = 1) -> Payment:
    multisig, merchant, mint, member = (address() for _ in range(4))
    vault, ledger = vault_of(wallet, multisig, index), Ledger([member])
    source = ledger.holds(vault, mint, 100, 90)
    target = ledger.holds(merchant, mint, 0, 10)
    return Payment(wallet, name, multisig, vault, merchant, mint, os.urandom(16), ledger, source, target)


def demand_unclaimed(moved: Transfer) -> None:
    assert (moved.references, moved.made_by, moved.claimable) == ((), "", 0)


@pytest.mark.parametrize(("wallet", "name"), EACH)
def test_vault_transfer_has_reference_and_vault_as_maker(wallet: str, name: str) -> None:
    payment = payment_by(wallet, name)
    moved = payment.read(payment.executing((payment.transfer(), 2)))
    assert (moved.slot, moved.references) == ("0.0", (payment.reference,))
    assert (moved.made_by, moved.claimable) == (payment.vault, 10)


def test_the_codes_are_those_that_the_programs_have() -> None:
    assert anchor_code("vault_transaction_execute") == bytes([194, 8, 161, 87, 153, 164, 25, 171])


@pytest.mark.parametrize("wallet", EXECUTE)
@pytest.mark.parametrize("index", [0, 1, 255])
def test_each_of_a_multisigs_vaults_is_known(wallet: str, index: int) -> None:
    multisig = address()
    assert is_vault(wallet, multisig, vault_of(wallet, multisig, index))
    assert not is_vault(wallet, address(), vault_of(wallet, multisig, index))
    assert not is_vault(wallet, multisig, address())


def test_coin_of_a_vault_counts_too() -> None:
    payment = payment_by(SQUADS_V4, "vault_transaction_execute")
    payment.ledger.lamports = {payment.vault: (50, 40), payment.merchant: (0, 10)}
    inner = coins(payment.vault, payment.merchant, 10, payment.reference)
    moved = payment.read(payment.executing((inner, 2)))
    assert (moved.references, moved.made_by, moved.claimable) == ((payment.reference,), payment.vault, 10)


@pytest.mark.parametrize(("wallet", "name"), EACH)
@pytest.mark.parametrize("height", [None, 3, 1])
def test_transfer_not_called_by_wallet_program_is_unclaimed(
    wallet: str, name: str, height: int | None
) -> None:
    payment = payment_by(wallet, name)
    demand_unclaimed(payment.read(payment.executing((payment.transfer(), height))))


@pytest.mark.parametrize(
    "data", [b"", anchor_code("spending_limit_use"), anchor_code("vault_transaction_create")]
)
def test_other_wallet_program_instruction_claims_nothing(data: bytes) -> None:
    payment = payment_by(SQUADS_V4, "vault_transaction_execute")
    demand_unclaimed(payment.read(payment.executing((payment.transfer(), 2), data=data)))


def test_a_strangers_signature_that_it_hands_on_does_not_count() -> None:
    payment = payment_by(SQUADS_V4, "vault_transaction_execute")
    stranger = address()
    payment.ledger.signers.append(stranger)
    payment.source = payment.ledger.holds(stranger, payment.mint, 100, 90)
    demand_unclaimed(payment.read(payment.executing((payment.transfer(stranger), 2))))


def test_another_multisigs_vault_does_not_count() -> None:
    payment = payment_by(SQUADS_V4, "vault_transaction_execute")
    payment.multisig = address()
    demand_unclaimed(payment.read(payment.executing((payment.transfer(), 2))))


def test_another_program_does_not_count() -> None:
    payment = payment_by(SQUADS_V4, "vault_transaction_execute")
    payment.wallet = program()
    demand_unclaimed(payment.read(payment.executing((payment.transfer(), 2))))


def test_wallet_program_called_by_another_claims_nothing() -> None:
    payment = payment_by(SQUADS_V4, "vault_transaction_execute")
    executing = payment.executing()
    outer = Call(program(), [], b"", [(executing, 2), (payment.transfer(), 2)])
    demand_unclaimed(payment.read(outer))


def test_what_a_vault_mints_does_not_count() -> None:
    payment = payment_by(SQUADS_V4, "vault_transaction_execute")
    demand_unclaimed(
        payment.read(payment.executing((minted(payment.mint, payment.target, payment.vault, 10), 2)))
    )
