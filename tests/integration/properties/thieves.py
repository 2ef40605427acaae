"""Actions of thieves. They see everything that people send, and can add to it."""

from uuid import UUID

from chains.client import Mention
from payments.models import Lookup
from tests.integration.properties.counts import HAPPENED
from tests.integration.properties.ledger import (
    MERCHANT,
    OTHER_TOKEN,
    ROUTER,
    THE_THIEFS,
    UNOWNED,
    Executed,
    Move,
    Noise,
)
from tests.integration.properties.people import (
    Step,
    delivery_of,
    note_bundle,
    note_delivery,
    router_of,
    signed_move,
    undelivered,
    waiting_operations,
)
from tests.integration.properties.world import Order, World

THIEF = "0xthief"
THIEFS_CONTRACT = "0xthiefs-contract"
THIEFS_OTHER = "0xthiefs-other-wallet"


def steal(world: World, step: Step) -> None:
    """Submit any transaction for any request."""
    request, sent = world.pick(step.b), world.sent_anywhere(step.a)
    if request and sent:
        world.submit(request, sent.hash, by="thief")


def junk(world: World, step: Step) -> None:
    """Submit hashes that were never sent."""
    request = world.pick(step.a)
    for _ in range(1 + step.n % 3 * 3 if request else 0):
        assert request
        world.submit(request, world.home.new_hash(), by="thief" if step.b % 2 else "")


def prove_own(world: World, step: Step) -> None:
    """Prove an address of the thief: a wallet or a contract."""
    request = world.pick(step.b)
    if request:
        world.prove(request, (THIEF, THIEFS_CONTRACT)[step.n % 2])


def prove_afterwards(world: World, step: Step) -> None:
    """Submit any transaction for any request, and sign for it as the thief or in another's name.

    Or send a transfer, and sign that it pays one request and then another.
    """
    request, sent, is_own = world.pick(step.b), world.sent_anywhere(step.a), step.n % 3 == 1
    if request is None or sent is None:
        return
    if is_own:
        move = Move(step.n, THIEF, MERCHANT, THE_THIEFS, made_by=THIEF)
        sent = world.home.send(THIEF, [move])
        world.mine()
    own = (THIEF, THIEFS_CONTRACT)[step.n % 2] if not is_own else THIEF
    results = []
    for each in world.requests if is_own else (request,):
        world.submit(each, sent.hash, by="thief")
        results.append(world.prove_afterwards(each, sent.hash, own, own))
        HAPPENED[f"thief's proof afterwards: {results[-1]}"] += 1
    assert results.count("bound") <= 1
    for sender in {move.made_by or move.sender for move in sent.moves} - {THIEF, THIEFS_CONTRACT, ""}:
        result = world.prove_afterwards(request, sent.hash, sender, THIEF)
        HAPPENED[f"thief's proof in another's name: {result}"] += 1
        assert result not in ("bound", "too late")


def begin_own_swap(world: World, step: Step) -> None:
    """Begin a swap from the other chain. It delivers to the merchant or, if the thief changes it, to the thief."""
    request = world.pick(step.b)
    if request is None:
        return
    call = world.quote(request, world.source_chain, step.n, world.source)
    sent = world.source.send(THIEF, mentions=(call,), runs_code=True)
    account = THIEFS_OTHER if step.a % 2 else MERCHANT
    world.orders.append(Order(sent, step.n, account, THE_THIEFS))
    world.submit(request, sent.hash, world.source_chain, by="thief")


def propose_anything(world: World, step: Step) -> None:
    """Submit an id for any request. The id and the account can each be a customer's or the thief's."""
    request = world.pick(step.b)
    signed = [intent for intent in world.intents if intent.wallet in world.home.accounts]
    if request is None or world.home.is_solana:
        return
    world.home.accounts.add(THIEFS_CONTRACT)
    theirs = signed[step.a % len(signed)] if signed else None
    account = theirs.wallet if theirs and step.n % 2 else THIEFS_CONTRACT
    id_ = theirs.proposal if theirs and step.n % 3 else world.home.new_hash()
    refused = world.propose(request, account, id_, by="thief")
    HAPPENED[f"thief's id: {refused or 'accepted'}"] += 1


def forge(world: World, step: Step) -> None:
    """Have the thief's contract log an execution of a submitted id, in any transaction that may call it.

    Bundlers and relayers also call contracts of strangers.
    """
    sent = [each for each in world.home.sent.values() if each.runs_code]
    ids = list(Lookup.objects.exclude(proposal_id="").order_by("pk").values_list("proposal_id", flat=True))
    if sent and ids:
        event = Executed(
            THIEFS_CONTRACT, ids[step.a % len(ids)], sent[step.b % len(sent)].hash, has_failed=step.n % 2 == 0
        )
        world.home.executed.append(event)


WITH_THEIR_OWN = ("pay", "pay nothing", "pay plainly", "swap", "swap to myself", "round")
TWISTS = (
    *("by contract", "pull", "two references", "another's reference", "another's id", "only log", "inside"),
    *("back", "back", "second account", "other token", "oversized", "submit to all"),
)


def compose(world: World, step: Step) -> None:
    """Build one transaction from others' money and the thief's own; submit it for a request."""
    mine_, theirs = world.pick(step.b), world.pick(step.a)
    if mine_ is None or theirs is None:
        return
    tricks = step.tricks
    mentions = _mentions(world, step, mine_, theirs)
    own_call = (len(mentions) - 1,) if mentions and not mentions[-1].is_log else ()
    within = own_call if "inside" in tricks else ()
    moves, orders, intents = [], [], []
    if "deliver" in tricks and (waiting := undelivered(world)):
        orders = [waiting[step.a % len(waiting)]]
        moves.append(delivery_of(world, orders[0], step.n, THIEF, within))
    if "operation" in tricks and (signed := waiting_operations(world)):
        intents = [signed[step.a % len(signed)]]
        moves.append(signed_move(world, intents[0]))
    moves += _own_moves(world, step, mine_, theirs, own_call)
    if step.n % 2:
        moves.reverse()
    sent = world.home.send(
        THIEF,
        moves,
        mentions=mentions,
        runs_code=True,
        noise=(Noise.UNREADABLE, Noise.CONTRADICTED)[step.n % 2] if "oversized" in tricks else Noise.QUIET,
    )
    for order in orders:
        note_delivery(order, sent)
    if "swap" in tricks or "swap to myself" in tricks:
        to = THIEFS_OTHER if "swap to myself" in tricks else MERCHANT
        world.swapped[sent.hash] = (step.n, to)
    for request in world.requests if "submit to all" in tricks else (mine_,):
        world.submit(request, sent.hash, by="thief")
    note_bundle(world, sent, intents, step)


def _mentions(world: World, step: Step, mine_: UUID, theirs: UUID) -> tuple[Mention, ...]:
    """Return the router's calls, with another's id and with the thief's own. The innermost call is last."""
    calls = []
    if "another's id" in step.tricks:
        calls += [Mention(ROUTER, b"call" + known) for known in world.quotes.get(theirs, ())[:1]]
    if "swap" in step.tricks or "swap to myself" in step.tricks:
        calls.append(world.quote(mine_, world.home_chain, step.n, world.home))
    if "only log" in step.tricks:
        calls = [Mention(ROUTER, call.data[4:], is_log=True) for call in calls if not world.home.is_solana]
    return tuple(calls)


def _own_moves(world: World, step: Step, mine_: UUID, theirs: UUID, own_call: tuple[int, ...]) -> list[Move]:
    """Return the thief's own movements in the transaction, next to others' money."""
    tricks, reference = step.tricks, bytes(world.requests[mine_].reference)
    references: tuple[bytes, ...] = (reference,)
    if "two references" in tricks and mine_ != theirs:
        references = (reference, bytes(world.requests[theirs].reference))
    if "another's reference" in tricks:
        references = (bytes(world.requests[theirs].reference),)
    # On EVM, one reference fits after a call's arguments.
    references = references if world.home.is_solana else references[:1]
    is_inner = not world.home.is_solana
    payer = THIEFS_CONTRACT if "by contract" in tricks else THIEF
    token = OTHER_TOKEN if "other token" in tricks else Move.token
    moves, paid = [], 0
    if "pay" in tricks or "pay plainly" in tricks:
        carried = () if "pay plainly" in tricks else references
        made_by = "" if "pull" in tricks else payer
        inner = is_inner or "pull" in tricks
        moves.append(Move(step.n, payer, MERCHANT, THE_THIEFS, made_by, carried, token=token, is_inner=inner))
        paid = step.n
    if "pay nothing" in tricks:
        moves.append(Move(0, payer, MERCHANT, THE_THIEFS, payer, references, is_inner=is_inner))
    if "swap" in tricks:
        moves.append(Move(step.n, router_of(world), MERCHANT, THE_THIEFS, within=own_call, is_inner=True))
    if "round" in tricks:
        moves += _round(world, step, references)
    if "back" in tricks and paid and token == Move.token:
        moves.append(
            Move(
                paid,
                MERCHANT,
                payer,
                THE_THIEFS,
                is_inner=True,
                source="second" if "second account" in tricks else "usual",
            )
        )
    return moves


def _round(world: World, step: Step, references: tuple[bytes, ...]) -> list[Move]:
    """Return the merchant's own money moving in a circle: between two accounts, or through the thief's contract."""
    if world.home.is_solana:
        return [Move(step.n, MERCHANT, MERCHANT, UNOWNED, MERCHANT, references, source="second")]
    is_passed_on = "second account" in step.tricks
    last = THIEFS_CONTRACT if is_passed_on else THIEFS_OTHER
    moves = [
        Move(0, MERCHANT, MERCHANT, UNOWNED, "", references, is_inner=True),
        Move(step.n, MERCHANT, MERCHANT, UNOWNED, "", references, is_inner=True),
        Move(step.n, MERCHANT, THIEFS_OTHER, UNOWNED, is_inner=True),
        Move(step.n, last, MERCHANT, UNOWNED, last, references, is_inner=True),
    ]
    # The money must leave first. Otherwise, one account would pay, and the merchant would pass the money on
    # to another. `compose` reverses the moves of odd steps, so reverse them here too.
    return moves[::-1] if is_passed_on and step.n % 2 else moves
