"""A reference or proof claims only a top-level transfer: at most its amount, and at most its account's gain."""

import os
import struct
from dataclasses import dataclass, field

import pytest

from chains.client import Transfer
from chains.families.solana.accounts import SYSTEM, TOKEN, WRAPPED_SOL
from tests.support.solana.answers import (
    Call,
    Ledger,
    address,
    bare_move,
    closed,
    coins,
    minted,
    move,
    program,
)


@dataclass
class Scene:
    """A customer pays a merchant's associated account, and a bridge has money for another customer's payment."""

    customer: str = field(default_factory=address)
    merchant: str = field(default_factory=address)
    bridge: str = field(default_factory=address)
    mint: str = field(default_factory=address)
    reference: bytes = field(default_factory=lambda: os.urandom(16))

    def __post_init__(self) -> None:
        self.ledger = Ledger([self.customer])

    def accounts(self, paid: int, gained: int, delivered: int = 0) -> tuple[str, str, str]:
        """Set the customer's payment, the merchant's gain, and the bridge's delivery; return their accounts."""
        return (
            self.ledger.holds(self.customer, self.mint, 100, 100 - paid),
            self.ledger.holds(self.merchant, self.mint, 3, 3 + gained),
            self.ledger.holds(self.bridge, self.mint, 50, 50 - delivered),
        )

    def read(self, *calls: Call) -> list[Transfer]:
        return [t for t in self.ledger.transfers(*calls) if t.recipient == self.merchant]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_payment_is_claimed_in_full_by_reference_and_payer(scene: Scene) -> None:
    source, target, _ = scene.accounts(10, 10)
    [paid] = scene.read(move(source, scene.mint, target, scene.customer, 10, scene.reference))
    assert paid == Transfer(
        "0",
        scene.mint,
        scene.customer,
        scene.merchant,
        10,
        references=(scene.reference,),
        is_marked=True,
        made_by=scene.customer,
        claimable=10,
        account=target,
        gain=10,
    )


def test_zero_transfer_claims_nothing_of_delivery_beside_it(scene: Scene) -> None:
    source, target, pool = scene.accounts(0, 11, delivered=11)
    bridging = Call(
        program(), [pool, target], b"complete", [(move(pool, scene.mint, target, scene.bridge, 11), 2)]
    )
    [delivered] = scene.read(move(source, scene.mint, target, scene.customer, 0, scene.reference), bridging)
    assert (delivered.slot, delivered.amount, delivered.gain) == ("1.0", 11, 11)
    assert (delivered.references, delivered.made_by, delivered.claimable) == ((), "", 0)


def test_small_transfer_claims_only_itself_beside_a_delivery(scene: Scene) -> None:
    source, target, _ = scene.accounts(1, 12)
    bridging = Call(program(), [target], b"mint", [(minted(scene.mint, target, scene.bridge, 11), 2)])
    paying = move(source, scene.mint, target, scene.customer, 1, scene.reference)
    found = [(t.slot, t.amount, t.references, t.claimable, t.sender) for t in scene.read(paying, bridging)]
    assert found == [("0", 1, (scene.reference,), 1, scene.customer), ("1.0", 11, (), 0, "")]


def test_no_reference_counts_on_a_transfer_that_a_program_makes(scene: Scene) -> None:
    """A program forwards the accounts of a stranger's payment, with a reference of the program's caller."""
    source, target, _ = scene.accounts(10, 10)
    inner = move(source, scene.mint, target, scene.customer, 10, scene.reference)
    [moved] = scene.read(Call(program(), inner.accounts, b"forward", [(inner, 2)]))
    assert (moved.amount, moved.references, moved.made_by, moved.claimable) == (10, (), "", 0)
    assert moved.sender == scene.customer


def test_tokens_minted_at_top_level_are_an_unclaimed_delivery(scene: Scene) -> None:
    _, target, _ = scene.accounts(0, 10)
    made = minted(scene.mint, target, scene.customer, 10)
    [moved] = scene.read(Call(made.program, [*made.accounts, scene.customer], made.data))
    assert (moved.sender, moved.references, moved.made_by, moved.claimable) == ("", (), "", 0)


def test_what_goes_back_in_the_same_transaction_is_deducted(scene: Scene) -> None:
    source, target, _ = scene.accounts(6, 6)
    there = move(source, scene.mint, target, scene.customer, 10, scene.reference)
    [paid] = scene.read(there, move(target, scene.mint, source, scene.merchant, 4))
    assert (paid.amount, paid.gain, paid.claimable) == (10, 6, 6)


def test_the_recipients_own_accounts_pay_it_nothing(scene: Scene) -> None:
    _, target, _ = scene.accounts(0, 10)
    own = address()
    scene.ledger.has(own, scene.mint, (scene.merchant, 10), (scene.merchant, 0))
    assert scene.read(move(own, scene.mint, target, scene.merchant, 10, scene.reference)) == []


def test_own_tokens_returned_by_another_account_claim_nothing(scene: Scene) -> None:
    source, target, _ = scene.accounts(0, 10)
    own = address()
    scene.ledger.has(own, scene.mint, (scene.merchant, 10), (scene.merchant, 0))
    out = move(own, scene.mint, source, scene.merchant, 10)
    back = move(source, scene.mint, target, scene.customer, 10, scene.reference)
    assert [(t.amount, t.gain, t.claimable) for t in scene.read(out, back)] == [(10, 10, 0)]


def test_several_accounts_of_the_recipient_share_its_own_loss(scene: Scene) -> None:
    source, target, _ = scene.accounts(10, 10)
    own, second = address(), address()
    scene.ledger.has(own, scene.mint, (scene.merchant, 10), (scene.merchant, 0))
    scene.ledger.has(second, scene.mint, (scene.merchant, 0), (scene.merchant, 10))
    calls = [
        move(own, scene.mint, source, scene.merchant, 10),
        move(source, scene.mint, target, scene.customer, 10, scene.reference),
        move(source, scene.mint, second, scene.customer, 10, scene.reference),
    ]
    assert [t.claimable for t in scene.read(*calls)] == [0, 0]


def test_delivery_does_not_offset_tokens_the_recipient_sent(scene: Scene) -> None:
    """The merchant's money leaves and returns with a reference, while a bridge delivers a victim's payment."""
    source, target, pool = scene.accounts(0, 10, delivered=10)
    out = move(target, scene.mint, source, scene.merchant, 10)
    back = move(source, scene.mint, target, scene.customer, 10, scene.reference)
    delivery = Call(program(), [], b"", [(move(pool, scene.mint, target, scene.bridge, 10), 2)])
    found = [(t.slot, t.gain, t.claimable) for t in scene.read(out, back, delivery)]
    assert found == [("1", 10, 0), ("2.0", 10, 0)]


def test_delivery_does_not_offset_native_coin_recipient_sent(scene: Scene) -> None:
    scene.ledger.lamports = {scene.customer: (10_000, 10_000), scene.merchant: (20, 30)}
    scene.ledger.lamports[scene.bridge] = 10, 0
    delivery = Call(program(), [], b"", [(coins(scene.bridge, scene.merchant, 10), 2)])
    out = coins(scene.merchant, scene.customer, 10)
    back = coins(scene.customer, scene.merchant, 10, scene.reference)
    assert [t.claimable for t in scene.read(out, back, delivery)] == [0, 0]


def test_an_account_that_gives_to_itself_gives_nothing(scene: Scene) -> None:
    _, target, _ = scene.accounts(0, 0)
    assert scene.read(move(target, scene.mint, target, scene.merchant, 10, scene.reference)) == []


@pytest.mark.parametrize("existed", [True, False])
def test_other_account_counts_only_if_recipient_owned_it_before(scene: Scene, existed: bool) -> None:
    source, _, _ = scene.accounts(10, 0)
    second = address()
    scene.ledger.has(second, scene.mint, (scene.merchant, 0 if existed else None), (scene.merchant, 10))
    [paid] = scene.read(move(source, scene.mint, second, scene.customer, 10, scene.reference))
    assert (paid.account, paid.claimable) == (second, 10 if existed else 0)


def test_associated_account_created_in_transaction_counts(scene: Scene) -> None:
    source, _, _ = scene.accounts(10, 0)
    target = scene.ledger.holds(scene.merchant, scene.mint, None, 10)
    [paid] = scene.read(move(source, scene.mint, target, scene.customer, 10, scene.reference))
    assert (paid.gain, paid.claimable) == (10, 10)


def test_the_associated_account_of_another_token_program_is_none(scene: Scene) -> None:
    source, _, _ = scene.accounts(10, 0)
    scene.ledger.program = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
    target = scene.ledger.holds(scene.merchant, scene.mint, None, 10)
    [paid] = scene.read(move(source, scene.mint, target, scene.customer, 10, scene.reference))
    assert paid.claimable == 0


def test_account_that_changes_owner_or_mint_claims_nothing(scene: Scene) -> None:
    source, _, _ = scene.accounts(10, 0)
    given = address()
    scene.ledger.has(given, scene.mint, (address(), 0), (scene.merchant, 10))
    [paid] = scene.read(move(source, scene.mint, given, scene.customer, 10, scene.reference))
    assert (paid.gain, paid.claimable) == (0, 0)
    scene.ledger.tokens[given] = (address(), scene.merchant, 0), (scene.mint, scene.merchant, 10)
    [paid] = scene.read(move(source, scene.mint, given, scene.customer, 10, scene.reference))
    assert (paid.gain, paid.claimable) == (0, 0)


def test_reopened_account_gains_only_the_balance_difference(scene: Scene) -> None:
    source, _, _ = scene.accounts(10, 0)
    target = scene.ledger.holds(scene.merchant, scene.mint, 4, 10)
    away = move(target, scene.mint, source, scene.merchant, 4)
    shut = closed(target, scene.merchant, scene.merchant)
    paying = move(source, scene.mint, target, scene.customer, 10, scene.reference)
    [paid] = [t for t in scene.read(away, shut, paying) if t.token]
    assert (paid.amount, paid.gain, paid.claimable) == (10, 6, 6)


def test_tokens_of_another_mint_are_no_gain_of_the_account(scene: Scene) -> None:
    source, target, _ = scene.accounts(0, 10)
    worthless = address()
    held = address()
    scene.ledger.has(held, worthless, (scene.customer, 10), (scene.customer, 0))
    assert scene.read(move(held, worthless, target, scene.customer, 10, scene.reference)) == []
    assert scene.read(bare_move(held, target, scene.customer, 10, scene.reference)) == []
    assert source


def test_source_opened_and_closed_in_transaction_claims_nothing(scene: Scene) -> None:
    _, target, _ = scene.accounts(0, 10)
    [paid] = scene.read(move(address(), scene.mint, target, scene.customer, 10, scene.reference))
    assert (paid.sender, paid.made_by, paid.claimable) == ("", "", 0)


def test_what_a_delegate_moves_is_no_payment_of_the_delegates(scene: Scene) -> None:
    source, target, _ = scene.accounts(10, 10)
    delegate = address()
    scene.ledger.signers = [delegate]
    [paid] = scene.read(move(source, scene.mint, target, delegate, 10, scene.reference))
    assert (paid.sender, paid.made_by) == (scene.customer, "")
    assert (paid.references, paid.claimable) == ((scene.reference,), 10)


def test_key_of_another_system_marks_a_transfer(scene: Scene) -> None:
    source, target, _ = scene.accounts(20, 20)
    plain = move(source, scene.mint, target, scene.customer, 10)
    other = move(source, scene.mint, target, scene.customer, 10)
    other.accounts.append(address())
    assert [(t.is_marked, t.references) for t in scene.read(plain, other)] == [(False, ()), (True, ())]


def test_a_transfer_without_its_mint_counts_the_same(scene: Scene) -> None:
    source, target, _ = scene.accounts(10, 10)
    [paid] = scene.read(bare_move(source, target, scene.customer, 10, scene.reference))
    assert (paid.token, paid.references, paid.claimable) == (scene.mint, (scene.reference,), 10)


def test_coin_is_claimed_at_most_by_the_recipients_gain(scene: Scene) -> None:
    scene.ledger.lamports = {scene.customer: (10_000, 9_994), scene.merchant: (20, 26)}
    paying = coins(scene.customer, scene.merchant, 10, scene.reference)
    [paid] = scene.read(paying, coins(scene.merchant, scene.customer, 4))
    assert (paid.token, paid.amount, paid.gain, paid.claimable) == ("", 10, 6, 6)
    assert (paid.made_by, paid.references, paid.account) == (
        scene.customer,
        (scene.reference,),
        scene.merchant,
    )


def test_the_network_fee_is_no_loss_of_a_recipient_that_pays_it(scene: Scene) -> None:
    scene.ledger.signers = [scene.merchant, scene.customer]
    scene.ledger.lamports = {scene.customer: (1000, 990), scene.merchant: (10_000, 10_010)}
    [paid] = scene.read(coins(scene.customer, scene.merchant, 10, scene.reference))
    assert (paid.gain, paid.claimable) == (10, 10)


def test_coin_that_a_wallet_sends_to_itself_is_nothing(scene: Scene) -> None:
    assert scene.read(coins(scene.merchant, scene.merchant, 10, scene.reference)) == []


def test_coin_by_a_derived_key_is_no_payment_of_that_key(scene: Scene) -> None:
    base, derived = scene.customer, address()
    scene.ledger.lamports = {derived: (50, 40), scene.merchant: (0, 10)}
    seeded = Call(SYSTEM, [derived, base, scene.merchant], struct.pack("<IQ", 11, 10) + bytes(48))
    [paid] = scene.read(seeded)
    assert (paid.sender, paid.made_by, paid.amount) == (derived, "", 10)


def test_a_closed_account_delivers_its_lamports(scene: Scene) -> None:
    """Bridges deliver native coin like this: wrapped into an account that is then closed to the recipient."""
    pool = scene.ledger.holds(scene.bridge, WRAPPED_SOL, 900, 890)
    temporary = address()
    scene.ledger.lamports = {temporary: (7, 0), pool: (905, 895), scene.merchant: (0, 17)}
    inner = [
        (move(pool, WRAPPED_SOL, temporary, scene.bridge, 10), 2),
        (closed(temporary, scene.merchant, scene.bridge), 2),
    ]
    [moved] = scene.read(Call(program(), [pool, temporary, scene.merchant], b"unwrap", inner))
    assert (moved.slot, moved.token, moved.amount, moved.gain) == ("0.1", "", 17, 17)
    assert (moved.sender, moved.claimable) == ("", 0)


def test_the_recipients_own_closed_account_is_no_delivery(scene: Scene) -> None:
    own = scene.ledger.holds(scene.merchant, WRAPPED_SOL, 10, None)
    scene.ledger.lamports = {own: (17, 0), scene.merchant: (0, 17)}
    assert scene.read(closed(own, scene.merchant, scene.merchant)) == []


def test_lamports_for_a_new_account_are_claimed_by_no_reference(scene: Scene) -> None:
    scene.ledger.lamports = {scene.customer: (10_000, 9_990), scene.merchant: (0, 10)}
    create = Call(SYSTEM, [scene.customer, scene.merchant], struct.pack("<IQQ", 0, 10, 0) + bytes(32))
    [moved] = scene.read(create)
    assert (moved.amount, moved.claimable, moved.made_by) == (10, 0, "")


def test_batch_parts_are_reported_but_claimed_by_no_reference(scene: Scene) -> None:
    source, target, _ = scene.accounts(10, 10)
    one = bare_move(source, target, scene.customer, 4, scene.reference)
    two = move(source, scene.mint, target, scene.customer, 6)
    data = b"\xff" + b"".join(bytes([len(part.accounts), len(part.data)]) + part.data for part in (one, two))
    found = scene.read(Call(TOKEN, [*one.accounts, *two.accounts], data))
    assert [(t.slot, t.amount, t.claimable, t.references) for t in found] == [
        ("0.b0", 4, 0, ()),
        ("0.b1", 6, 0, ()),
    ]


@pytest.mark.parametrize(
    "data", [b"", b"\x0c", b"\x0c\x01", b"\x03" + bytes(7), b"\xff\x04", b"\xff\x04\x09\x03"]
)
def test_an_instruction_that_is_cut_short_moves_nothing(scene: Scene, data: bytes) -> None:
    source, target, _ = scene.accounts(10, 10)
    assert scene.read(Call(TOKEN, [source, scene.mint, target, scene.customer], data)) == []


def test_transfer_is_attributed_to_its_watched_instruction(scene: Scene) -> None:
    source, target, pool = scene.accounts(1, 12, delivered=11)
    router, other = program(), program()
    inner = (move(pool, scene.mint, target, scene.bridge, 11), 2)
    calls = [
        Call(router, [], b"first"),
        move(source, scene.mint, target, scene.customer, 1),
        Call(other, [], b"unwatched", [inner]),
        Call(router, [], b"second", [inner]),
    ]
    found = scene.ledger.transfers(*calls, programs=[router, TOKEN])
    assert [(t.slot, t.within) for t in found] == [("1", ()), ("2.0", ()), ("3.0", (2,))]
