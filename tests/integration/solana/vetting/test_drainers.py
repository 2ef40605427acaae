"""A provider's transaction that takes more than the route says is rejected.

Each would do harm: at the end, the test signs the transaction and checks the loss.
"""

from collections.abc import Callable

import pytest
from solders.instruction import Instruction
from solders.system_program import AssignParams, assign
from spl.token import instructions as spl
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.models import (
    ApproveParams,
    CloseAccountParams,
)

from chains.client import Action, ChainClient, Refusal, Spending, TransferRefused
from chains.families.solana.vetting.debits import debits
from chains.families.solana.vetting.messages import read_message
from tests.support.solana.actions import bare, whole
from tests.support.solana.scene import PRICE, Scene


def of_another_mint(scene: Scene) -> list[Instruction]:
    return scene.ledger.token_move(
        str(scene.thief.pubkey()), 1, sender=scene.wallet, token=str(scene.mints.other)
    )


def a_delegate(scene: Scene) -> list[Instruction]:
    approve = ApproveParams(
        program_id=TOKEN_PROGRAM_ID,
        source=scene.account(scene.usdc),
        delegate=scene.thief.pubkey(),
        owner=scene.owner,
        amount=2**64 - 1,
    )
    return [spl.approve(approve)]


def a_closed_account(scene: Scene) -> list[Instruction]:
    closing = CloseAccountParams(
        program_id=TOKEN_PROGRAM_ID, account=scene.spare, dest=scene.thief.pubkey(), owner=scene.owner
    )
    return [spl.close_account(closing)]


def the_wallet_assigned(scene: Scene) -> list[Instruction]:
    return [assign(AssignParams(pubkey=scene.owner, owner=TOKEN_PROGRAM_ID))]


DRAINERS: dict[Callable[[Scene], list[Instruction]], str] = {
    of_another_mint: "tokens",
    a_delegate: "authority",
    a_closed_account: "lamports",
    the_wallet_assigned: "authority",
}


@pytest.mark.parametrize("drain", DRAINERS, ids=lambda drain: drain.__name__)
def test_transaction_that_takes_more_is_rejected(
    client: ChainClient, scene: Scene, drain: Callable[[Scene], list[Instruction]]
) -> None:
    instructions = [*scene.honest(), *drain(scene)]
    action, before = whole(instructions, scene.wallet), scene.state()
    notes = [rejection(client, scene, made) for made in (action, bare(instructions))]
    assert notes[0] == notes[1]
    assert notes[0].startswith("the transaction was rejected: it would")
    kinds = [taking.kind for taking in debits(read_message(action.serialized), str(scene.owner))]
    assert kinds == ["tokens", DRAINERS[drain]]
    assert scene.state() == before

    scene.ledger.send(drain(scene), scene.ledger.key, scene.wallet)
    assert scene.state() != before


def rejection(client: ChainClient, scene: Scene, action: Action) -> str:
    with pytest.raises(TransferRefused) as error:
        client.prepare(action, sender=str(scene.owner), spending=Spending(scene.ledger.usdc, PRICE))
    assert error.value.refusal == Refusal.WOULD_FAIL
    return error.value.note
