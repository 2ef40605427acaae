"""A provider's transaction is rejected if it has hidden effects or is unsafe to sign."""

import pytest
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.system_program import (
    CreateAccountParams,
    TransferParams,
    create_account,
    transfer,
)
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import ApproveParams, CloseAccountParams

from chains.client import (
    Action,
    ChainClient,
    Refusal,
    SolanaInstructions,
    SolanaTransaction,
    Spending,
    TransferRefused,
)
from chains.families.solana.vetting.debits import Debit, DebitKind, debits
from chains.families.solana.vetting.messages import read_action
from chains.families.solana.vetting.preparing import MAX_FEE
from demo.solana import ledger as node_of
from tests.support.solana.accounts import open_account
from tests.support.solana.actions import bare, make_table, whole
from tests.support.solana.ledger import new_address
from tests.support.solana.scene import PRICE, SOL, Scene


def prepare(client: ChainClient, scene: Scene, action: Action, *, extra_native: int = 0) -> str:
    spending = Spending(scene.ledger.usdc, PRICE, extra_native)
    return str(client.prepare(action, sender=str(scene.owner), spending=spending))


def rejection(client: ChainClient, scene: Scene, action: Action) -> str:
    before = scene.state()
    with pytest.raises(TransferRefused) as error:
        prepare(client, scene, action)
    assert error.value.refusal == Refusal.WOULD_FAIL
    assert scene.state() == before
    return error.value.note


def taken(scene: Scene, action: SolanaTransaction | SolanaInstructions) -> list[Debit]:
    owner = str(scene.owner)
    return debits(read_action(action, owner), owner)


def test_too_many_deposits_for_strangers_are_rejected(client: ChainClient, scene: Scene) -> None:
    """Each stranger could close the account, and keep the deposit that the customer paid for it."""

    def accounts(count: int) -> list[Instruction]:
        strangers = [Keypair().pubkey() for _ in range(count)]
        made = [
            spl.create_idempotent_associated_token_account(
                scene.owner, stranger, scene.usdc, TOKEN_PROGRAM_ID
            )
            for stranger in strangers
        ]
        return [*scene.honest(), *made]

    for action in (whole(accounts(4), scene.wallet), bare(accounts(4))):
        assert "lamports" in rejection(client, scene, action)
        assert [taking.what for taking in taken(scene, action)] == ["transfer_checked"]
    scene.ledger.sign_and_send(prepare(client, scene, whole(accounts(3), scene.wallet)), scene.wallet)


def test_theft_through_a_lookup_table_is_rejected(client: ChainClient, scene: Scene) -> None:
    table = make_table(scene.ledger, [str(scene.account(scene.mints.other)), str(scene.mints.other)])
    thief = str(scene.thief.pubkey())
    theft = scene.ledger.token_move(thief, 1, sender=scene.wallet, token=str(scene.mints.other))
    instructions = [*scene.honest(), *theft]
    action = whole(instructions, scene.wallet, tables=[table])
    for made in (action, bare(instructions, [str(table.key)])):
        assert str(scene.mints.other) in rejection(client, scene, made)
    stolen = taken(scene, action)[1]
    assert (stolen.kind, stolen.account, stolen.mint) == (DebitKind.TOKENS, None, None)


def test_deposit_beyond_the_extra_amount_is_rejected(client: ChainClient, scene: Scene) -> None:
    vault, program = Keypair(), Keypair().pubkey()

    def action(lamports: int) -> SolanaTransaction:
        space = CreateAccountParams(
            from_pubkey=scene.owner, to_pubkey=vault.pubkey(), lamports=lamports, space=9, owner=program
        )
        instructions = [*scene.honest(), create_account(space)]
        latest = node_of.latest_blockhash(scene.ledger.url)
        return whole(instructions, scene.wallet, signed_by=[vault], blockhash=latest)

    assert "lamports" in rejection(client, scene, action(SOL // 10))
    assert prepare(client, scene, action(SOL // 10), extra_native=SOL // 10)
    assert prepare(client, scene, action(2 * 10**6))


def test_bridge_fee_needs_to_be_in_the_offer(client: ChainClient, scene: Scene) -> None:
    fee = transfer(TransferParams(from_pubkey=scene.owner, to_pubkey=scene.thief.pubkey(), lamports=50_000))
    for action in (whole([*scene.honest(), fee], scene.wallet), bare([*scene.honest(), fee])):
        assert "lamports" in rejection(client, scene, action)
        assert prepare(client, scene, action, extra_native=50_000)


def test_delegate_that_spends_all_at_once_is_accepted(client: ChainClient, scene: Scene) -> None:
    """Some bridges work like this: they spend the approved amount in the same transaction."""
    source, delegate = scene.account(scene.usdc), Keypair()
    vault = open_account(scene.ledger, str(scene.thief.pubkey()))
    approve = ApproveParams(
        program_id=TOKEN_PROGRAM_ID,
        source=source,
        delegate=delegate.pubkey(),
        owner=scene.owner,
        amount=PRICE,
    )

    def action(taken: int) -> SolanaTransaction:
        [move] = scene.ledger.token_move(new_address(), taken, sender=scene.wallet, to_account=vault)
        accounts = [*move.accounts[:3], AccountMeta(delegate.pubkey(), True, False)]
        used = Instruction(move.program_id, bytes(move.data), accounts)
        latest = node_of.latest_blockhash(scene.ledger.url)
        return whole([spl.approve(approve), used], scene.wallet, signed_by=[delegate], blockhash=latest)

    assert "spend from the wallet later" in rejection(client, scene, action(PRICE - 1))
    assert prepare(client, scene, action(PRICE))


def test_account_closed_to_the_customer_is_accepted(client: ChainClient, scene: Scene) -> None:
    closing = CloseAccountParams(
        program_id=TOKEN_PROGRAM_ID, account=scene.spare, dest=scene.owner, owner=scene.owner
    )
    action = whole([*scene.honest(), spl.close_account(closing)], scene.wallet)
    assert [taking.what for taking in taken(scene, action)] == ["transfer_checked"]
    before = scene.ledger.balance(str(scene.owner))
    scene.ledger.sign_and_send(prepare(client, scene, action), scene.wallet)
    assert scene.ledger.balance(str(scene.owner)) == before - 5_000  # one account closed, another opened


def test_fee_above_the_maximum_is_rejected(client: ChainClient, scene: Scene) -> None:
    def paying(lamports: int) -> SolanaTransaction:
        offer = [set_compute_unit_limit(10**6), set_compute_unit_price(lamports - 5_000)]
        return whole([*offer, *scene.honest()], scene.wallet)

    assert "fee" in rejection(client, scene, paying(MAX_FEE + 1))
    assert prepare(client, scene, paying(MAX_FEE))


def test_transaction_with_a_durable_nonce_is_rejected(client: ChainClient, scene: Scene) -> None:
    advance = Instruction(
        Pubkey.from_string("11111111111111111111111111111111"),
        (4).to_bytes(4, "little"),
        [
            AccountMeta(Keypair().pubkey(), False, True),
            AccountMeta(Keypair().pubkey(), False, False),
            AccountMeta(scene.owner, True, False),
        ],
    )
    for action in (whole([advance, *scene.honest()], scene.wallet), bare([advance, *scene.honest()])):
        assert "durable nonce" in rejection(client, scene, action)
        assert taken(scene, action)[0].kind == DebitKind.UNKNOWN


def test_transaction_with_another_fee_payer_is_rejected(client: ChainClient, scene: Scene) -> None:
    assert "fee payer" in rejection(
        client, scene, whole(scene.honest(), scene.thief, signed_by=[scene.thief])
    )


def test_transaction_without_another_signature_is_rejected(client: ChainClient, scene: Scene) -> None:
    gift = transfer(TransferParams(from_pubkey=scene.thief.pubkey(), to_pubkey=scene.owner, lamports=1))
    for action in (whole([*scene.honest(), gift], scene.wallet), bare([*scene.honest(), gift])):
        assert "signature" in rejection(client, scene, action)


def test_transaction_already_signed_by_wallet_is_rejected(client: ChainClient, scene: Scene) -> None:
    action = whole(scene.honest(), scene.wallet, signed_by=[scene.wallet])
    assert "signature" in rejection(client, scene, action)


def test_forged_signature_of_another_is_rejected(client: ChainClient, scene: Scene) -> None:
    gift = transfer(TransferParams(from_pubkey=scene.thief.pubkey(), to_pubkey=scene.owner, lamports=1))
    signed = whole([*scene.honest(), gift], scene.wallet, signed_by=[scene.thief]).serialized
    forged = bytearray(signed)
    forged[1 + 64] ^= 1
    assert "signature" in rejection(client, scene, SolanaTransaction(bytes(forged)))


@pytest.mark.parametrize("serialized", [b"", bytes(1_233)])
def test_bytes_that_are_no_transaction_are_rejected(
    client: ChainClient, scene: Scene, serialized: bytes
) -> None:
    assert rejection(client, scene, SolanaTransaction(serialized))


def test_instructions_that_do_not_fit_are_rejected(client: ChainClient, scene: Scene) -> None:
    filler = Instruction(TOKEN_PROGRAM_ID, bytes(1_200), [])
    crowd = [AccountMeta(Keypair().pubkey(), False, False) for _ in range(300)]
    for instruction in (filler, Instruction(TOKEN_PROGRAM_ID, b"", crowd)):
        assert "fit" in rejection(client, scene, bare([*scene.honest(), instruction]))


def test_address_that_is_no_lookup_table_is_rejected(client: ChainClient, scene: Scene) -> None:
    for address in (new_address(), scene.ledger.usdc, str(scene.owner)):
        assert "lookup table" in rejection(client, scene, bare(scene.honest(), [address]))
    assert rejection(client, scene, bare(scene.honest(), ["not an address"]))
    assert rejection(client, scene, bare(scene.honest(), [new_address() for _ in range(120)]))
