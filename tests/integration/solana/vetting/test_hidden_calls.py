"""The simulation shows what programs do in inner calls, so the transaction is rejected.

The programs and the harm are real: at the end, each transaction is signed and sent.
"""

from collections.abc import Callable

import pytest
from solders.instruction import Instruction
from solders.system_program import AssignParams, TransferParams, assign, transfer
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import ApproveParams

from chains.client import ChainClient, Refusal, Spending, TransferRefused
from chains.families.solana.vetting.debits import DebitKind, debits
from chains.families.solana.vetting.messages import read_message
from demo.solana import mint
from tests.support.solana.accounts import open_account
from tests.support.solana.actions import bare, whole
from tests.support.solana.ledger import new_address
from tests.support.solana.programs import smuggled
from tests.support.solana.scene import PRICE, Scene

ID = bytes(range(8))


def coins(scene: Scene) -> Instruction:
    target = scene.thief.pubkey()
    return transfer(TransferParams(from_pubkey=scene.owner, to_pubkey=target, lamports=123_456_789))


def tokens(scene: Scene) -> Instruction:
    """Send the customer's whole balance of another token to an existing account of the thief."""
    thief = scene.thief.pubkey()
    mint.mint_to(scene.ledger.url, scene.mints.other, thief, 0, authority=scene.ledger.key)
    [_, move] = scene.ledger.token_move(
        str(thief), 30 * 10**6, sender=scene.wallet, token=str(scene.mints.other)
    )
    return move


def a_delegate(scene: Scene) -> Instruction:
    approve = ApproveParams(
        program_id=TOKEN_PROGRAM_ID,
        source=scene.account(scene.usdc),
        delegate=scene.thief.pubkey(),
        owner=scene.owner,
        amount=2**64 - 1,
    )
    return spl.approve(approve)


def the_wallet_itself(scene: Scene) -> Instruction:
    return assign(AssignParams(pubkey=scene.owner, owner=TOKEN_PROGRAM_ID))


@pytest.mark.parametrize("hidden", [coins, tokens, a_delegate, the_wallet_itself])
def test_hidden_call_that_takes_more_is_rejected(
    client: ChainClient, scene: Scene, hidden: Callable[[Scene], Instruction]
) -> None:
    call = smuggled(scene.ledger, hidden(scene), ID)
    instructions = [*scene.honest(), call]
    action, before = whole(instructions, scene.wallet), scene.state()
    for made in (action, bare(instructions)):
        with pytest.raises(TransferRefused) as error:
            client.prepare(made, sender=str(scene.owner), spending=Spending(scene.ledger.usdc, PRICE))
        assert error.value.refusal == Refusal.WOULD_FAIL
        assert error.value.note.startswith("the transaction was rejected: it would")
    assert scene.state() == before

    scene.ledger.send([call], scene.ledger.key, scene.wallet)
    assert scene.state() != before


def test_unknown_call_is_an_unknown_debit(scene: Scene) -> None:
    call = smuggled(scene.ledger, coins(scene), ID)
    message = read_message(whole([call], scene.wallet).serialized)
    [taking] = debits(message, str(scene.owner))
    assert (taking.kind, taking.program) == (DebitKind.UNKNOWN, str(call.program_id))


def test_program_that_takes_the_offered_amount_is_accepted(client: ChainClient, scene: Scene) -> None:
    vault = open_account(scene.ledger, str(scene.thief.pubkey()))
    [move] = scene.ledger.token_move(new_address(), PRICE, sender=scene.wallet, to_account=vault)
    call = smuggled(scene.ledger, move, ID)
    for action in (whole([call], scene.wallet), bare([call])):
        built = client.prepare(action, sender=str(scene.owner), spending=Spending(scene.ledger.usdc, PRICE))
        signature = scene.ledger.sign_and_send(str(built), scene.wallet)
        router = str(call.program_id)
        snapshot = client.look_up([signature], with_finality=True, mentioning=[router])
        facts = snapshot.transactions[signature]
        assert facts is not None
        assert [(mention.contract, mention.data, mention.is_log) for mention in facts.mentions] == [
            (router, ID, False)
        ]
        [moved] = [moved for moved in facts.transfers if moved.token]
        assert (moved.amount, moved.sender) == (PRICE, str(scene.owner))
