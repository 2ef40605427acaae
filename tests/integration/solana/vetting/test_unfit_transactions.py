"""What a provider's transaction does without saying so, or what makes it unfit to be signed at all, is refused too."""

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


def refusal(client: ChainClient, scene: Scene, action: Action) -> str:
    before = scene.state()
    with pytest.raises(TransferRefused) as error:
        prepare(client, scene, action)
    assert error.value.refusal == Refusal.WOULD_FAIL
    assert scene.state() == before
    return error.value.note


def taken(scene: Scene, action: SolanaTransaction | SolanaInstructions) -> list[Debit]:
    owner = str(scene.owner)
    return debits(read_action(action, owner), owner)


def test_deposits_for_strangers_that_another_programs_calls_take(client: ChainClient, scene: Scene) -> None:
    """Each stranger could close the account, and keep the deposit of the customer's that is in it."""

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
        assert "lamports" in refusal(client, scene, action)
        assert [taking.what for taking in taken(scene, action)] == ["transfer_checked"]
    scene.ledger.sign_and_send(prepare(client, scene, whole(accounts(3), scene.wallet)), scene.wallet)


def test_an_account_of_the_customers_that_only_a_lookup_table_names(
    client: ChainClient, scene: Scene
) -> None:
    table = make_table(scene.ledger, [str(scene.account(scene.mints.other)), str(scene.mints.other)])
    thief = str(scene.thief.pubkey())
    theft = scene.ledger.token_move(thief, 1, sender=scene.wallet, token=str(scene.mints.other))
    instructions = [*scene.honest(), *theft]
    action = whole(instructions, scene.wallet, tables=[table])
    for made in (action, bare(instructions, [str(table.key)])):
        assert str(scene.mints.other) in refusal(client, scene, made)
    stolen = taken(scene, action)[1]
    assert (stolen.kind, stolen.account, stolen.mint) == (DebitKind.TOKENS, None, None)


def test_lamports_for_an_account_that_the_transaction_makes(client: ChainClient, scene: Scene) -> None:
    vault, program = Keypair(), Keypair().pubkey()

    def action(lamports: int) -> SolanaTransaction:
        space = CreateAccountParams(
            from_pubkey=scene.owner, to_pubkey=vault.pubkey(), lamports=lamports, space=9, owner=program
        )
        instructions = [*scene.honest(), create_account(space)]
        latest = node_of.latest_blockhash(scene.ledger.url)
        return whole(instructions, scene.wallet, signed_by=[vault], blockhash=latest)

    assert "lamports" in refusal(client, scene, action(SOL // 10))
    assert prepare(client, scene, action(SOL // 10), extra_native=SOL // 10)
    assert prepare(client, scene, action(2 * 10**6))


def test_a_bridges_own_fee_is_taken_where_the_route_says_so(client: ChainClient, scene: Scene) -> None:
    fee = transfer(TransferParams(from_pubkey=scene.owner, to_pubkey=scene.thief.pubkey(), lamports=50_000))
    for action in (whole([*scene.honest(), fee], scene.wallet), bare([*scene.honest(), fee])):
        assert "lamports" in refusal(client, scene, action)
        assert prepare(client, scene, action, extra_native=50_000)


def test_a_delegate_that_uses_all_of_its_right_at_once_is_none_afterwards(
    client: ChainClient, scene: Scene
) -> None:
    """As some bridges do: they take what they were allowed to take in the very same transaction."""
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

    assert "spend from the wallet later" in refusal(client, scene, action(PRICE - 1))
    assert prepare(client, scene, action(PRICE))


def test_an_account_that_is_closed_to_the_customer_is_no_loss(client: ChainClient, scene: Scene) -> None:
    closing = CloseAccountParams(
        program_id=TOKEN_PROGRAM_ID, account=scene.spare, dest=scene.owner, owner=scene.owner
    )
    action = whole([*scene.honest(), spl.close_account(closing)], scene.wallet)
    assert [taking.what for taking in taken(scene, action)] == ["transfer_checked"]
    before = scene.ledger.balance(str(scene.owner))
    scene.ledger.sign_and_send(prepare(client, scene, action), scene.wallet)
    assert scene.ledger.balance(str(scene.owner)) == before - 5_000  # one account closed, another made


def test_an_absurd_fee(client: ChainClient, scene: Scene) -> None:
    def paying(lamports: int) -> SolanaTransaction:
        offer = [set_compute_unit_limit(10**6), set_compute_unit_price(lamports - 5_000)]
        return whole([*offer, *scene.honest()], scene.wallet)

    assert "fee" in refusal(client, scene, paying(MAX_FEE + 1))
    assert prepare(client, scene, paying(MAX_FEE))


def test_a_durable_nonce(client: ChainClient, scene: Scene) -> None:
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
        assert "durable nonce" in refusal(client, scene, action)
        assert taken(scene, action)[0].kind == DebitKind.UNKNOWN


def test_what_another_wallet_is_to_pay_for(client: ChainClient, scene: Scene) -> None:
    assert "fee payer" in refusal(client, scene, whole(scene.honest(), scene.thief, signed_by=[scene.thief]))


def test_what_somebody_else_has_yet_to_sign(client: ChainClient, scene: Scene) -> None:
    gift = transfer(TransferParams(from_pubkey=scene.thief.pubkey(), to_pubkey=scene.owner, lamports=1))
    for action in (whole([*scene.honest(), gift], scene.wallet), bare([*scene.honest(), gift])):
        assert "signature" in refusal(client, scene, action)


def test_what_the_wallet_seems_to_have_signed(client: ChainClient, scene: Scene) -> None:
    action = whole(scene.honest(), scene.wallet, signed_by=[scene.wallet])
    assert "signature" in refusal(client, scene, action)


def test_a_signature_that_is_not_its_signers(client: ChainClient, scene: Scene) -> None:
    gift = transfer(TransferParams(from_pubkey=scene.thief.pubkey(), to_pubkey=scene.owner, lamports=1))
    signed = whole([*scene.honest(), gift], scene.wallet, signed_by=[scene.thief]).serialized
    forged = bytearray(signed)
    forged[1 + 64] ^= 1
    assert "signature" in refusal(client, scene, SolanaTransaction(bytes(forged)))


@pytest.mark.parametrize("serialized", [b"", b"\x01", bytes(100), bytes(1_233), b"\xff" * 500])
def test_what_is_no_transaction(client: ChainClient, scene: Scene, serialized: bytes) -> None:
    assert refusal(client, scene, SolanaTransaction(serialized))


def test_instructions_that_do_not_fit(client: ChainClient, scene: Scene) -> None:
    filler = Instruction(TOKEN_PROGRAM_ID, bytes(1_200), [])
    crowd = [AccountMeta(Keypair().pubkey(), False, False) for _ in range(300)]
    for instruction in (filler, Instruction(TOKEN_PROGRAM_ID, b"", crowd)):
        assert "fit" in refusal(client, scene, bare([*scene.honest(), instruction]))


def test_lookup_tables_that_are_none(client: ChainClient, scene: Scene) -> None:
    for address in (new_address(), scene.ledger.usdc, str(scene.owner)):
        assert "lookup table" in refusal(client, scene, bare(scene.honest(), [address]))
    assert refusal(client, scene, bare(scene.honest(), ["not an address"]))
    assert refusal(client, scene, bare(scene.honest(), [new_address() for _ in range(120)]))
