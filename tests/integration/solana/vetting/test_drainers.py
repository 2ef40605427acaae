"""A provider's transaction that takes more than the route says is refused, however it goes about it.

Each of these would do harm if it were signed: the end of the test signs it, and sees the harm.
"""

from collections.abc import Callable

import pytest
from solders.instruction import Instruction
from solders.system_program import AllocateParams, AssignParams, TransferParams, allocate, assign, transfer
from spl.token import instructions as spl
from spl.token.constants import TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.models import (
    ApproveParams,
    AuthorityType,
    BurnParams,
    CloseAccountParams,
    SetAuthorityParams,
)

from chains.client import Action, ChainClient, Refusal, Spending, TransferRefused
from chains.families.solana.vetting.debits import debits
from chains.families.solana.vetting.messages import read_message
from tests.support.solana.accounts import give_away
from tests.support.solana.actions import bare, whole
from tests.support.solana.scene import PRICE, Scene


def of_another_mint(scene: Scene) -> list[Instruction]:
    return scene.ledger.token_move(
        str(scene.thief.pubkey()), 1, sender=scene.wallet, token=str(scene.mints.other)
    )


def of_a_newer_mint(scene: Scene) -> list[Instruction]:
    return scene.ledger.token_move(
        str(scene.thief.pubkey()),
        1,
        sender=scene.wallet,
        token=str(scene.mints.newer),
        program=TOKEN_2022_PROGRAM_ID,
    )


def more_of_the_same(scene: Scene) -> list[Instruction]:
    return scene.ledger.token_move(str(scene.thief.pubkey()), 1, sender=scene.wallet)


def burnt(scene: Scene) -> list[Instruction]:
    burn = BurnParams(
        program_id=TOKEN_PROGRAM_ID,
        account=scene.account(scene.mints.other),
        mint=scene.mints.other,
        owner=scene.owner,
        amount=1,
    )
    return [spl.burn(burn)]


def a_delegate(scene: Scene) -> list[Instruction]:
    approve = ApproveParams(
        program_id=TOKEN_PROGRAM_ID,
        source=scene.account(scene.usdc),
        delegate=scene.thief.pubkey(),
        owner=scene.owner,
        amount=2**64 - 1,
    )
    return [spl.approve(approve)]


def another_owner(scene: Scene) -> list[Instruction]:
    return [give_away(scene.account(scene.mints.other), scene.wallet, str(scene.thief.pubkey()))]


def another_closer(scene: Scene) -> list[Instruction]:
    authority = SetAuthorityParams(
        program_id=TOKEN_PROGRAM_ID,
        account=scene.spare,
        authority=AuthorityType.CLOSE_ACCOUNT,
        current_authority=scene.owner,
        new_authority=scene.thief.pubkey(),
    )
    return [spl.set_authority(authority)]


def a_closed_account(scene: Scene) -> list[Instruction]:
    closing = CloseAccountParams(
        program_id=TOKEN_PROGRAM_ID, account=scene.spare, dest=scene.thief.pubkey(), owner=scene.owner
    )
    return [spl.close_account(closing)]


def the_wallet_assigned(scene: Scene) -> list[Instruction]:
    return [assign(AssignParams(pubkey=scene.owner, owner=TOKEN_PROGRAM_ID))]


def the_wallet_filled(scene: Scene) -> list[Instruction]:
    return [allocate(AllocateParams(pubkey=scene.owner, space=1))]


def coins(scene: Scene) -> list[Instruction]:
    return [transfer(TransferParams(from_pubkey=scene.owner, to_pubkey=scene.thief.pubkey(), lamports=5_000))]


DRAINERS: dict[Callable[[Scene], list[Instruction]], str] = {
    of_another_mint: "tokens",
    of_a_newer_mint: "tokens",
    more_of_the_same: "tokens",
    burnt: "tokens",
    a_delegate: "authority",
    another_owner: "authority",
    another_closer: "authority",
    a_closed_account: "lamports",
    the_wallet_assigned: "authority",
    the_wallet_filled: "authority",
    coins: "lamports",
}


@pytest.mark.parametrize("drain", DRAINERS, ids=lambda drain: drain.__name__)
def test_it_is_refused(
    client: ChainClient, scene: Scene, drain: Callable[[Scene], list[Instruction]]
) -> None:
    instructions = [*scene.honest(), *drain(scene)]
    action, before = whole(instructions, scene.wallet), scene.state()
    notes = [refusal(client, scene, made) for made in (action, bare(instructions))]
    assert notes[0] == notes[1]
    assert notes[0].startswith("the transaction was rejected: it would")
    kinds = [taking.kind for taking in debits(read_message(action.serialized), str(scene.owner))]
    assert kinds == ["tokens", DRAINERS[drain]]
    assert scene.state() == before

    scene.ledger.send(drain(scene), scene.ledger.key, scene.wallet)
    assert scene.state() != before


def refusal(client: ChainClient, scene: Scene, action: Action) -> str:
    with pytest.raises(TransferRefused) as error:
        client.prepare(action, sender=str(scene.owner), spending=Spending(scene.ledger.usdc, PRICE))
    assert error.value.refusal == Refusal.WOULD_FAIL
    return error.value.note
