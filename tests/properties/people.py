"""What people do: honest customers, relayers and merchants, and thieves who see all of it and add to it."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from chains.clients.base import Mention
from config.api.errors import ApiError
from payments.acceptance import accept_payment
from payments.models import Payment
from payments.requests import cancel_request
from payments.submission import retry_payment
from tests.properties.ledger import (
    BRIDGE,
    GONE,
    MERCHANT,
    NOBODY,
    OTHER_TOKEN,
    POOL,
    ROUTER,
    THE_THIEFS,
    ZERO,
    Move,
    Noise,
    Owners,
    Sent,
)
from tests.properties.world import Intent, Order, World

THIEF = "0xthief"
THIEFS_CONTRACT = "0xthiefs-contract"
THIEFS_OTHER = "0xthiefs-other-wallet"
FILLER = "0xhonest-relayer"
BUNDLER = "0xhonest-bundler"


@dataclass(frozen=True)
class Step:
    """One thing that happens. `a` and `b` pick among what there is, `n` is an amount or a kind."""

    action: str
    a: int
    b: int
    n: int
    tricks: frozenset[str] = frozenset()


def take(world: World, step: Step) -> None:
    """Have the step happen."""
    world.clock.forward(timedelta(seconds=1))
    ACTIONS[step.action](world, step)


# --- honest customers --------------------------------------------------------------------------------------------


def pay(world: World, step: Step) -> None:
    """Pay by an ordinary transfer with the request's reference."""
    request = world.pick(step.a)
    if request is None or not world.requests[request].references:
        return
    amount, payer = _amount(world, request, step), world.somebody("customer")
    reference = bytes(world.requests[request].reference)
    move = Move(amount, payer, MERCHANT, frozenset({request}), made_by=payer, references=(reference,))
    _pay(
        world,
        step,
        Intent("reference", request, amount, world.home.send(payer, [move], effect=f"pay{payer}")),
    )


def pay_with_proof(world: World, step: Step) -> None:
    """Prove the wallet, and send the money plainly."""
    request = world.pick(step.a)
    if request is None:
        return
    amount, payer = _amount(world, request, step), world.somebody("customer")
    until = world.prove(request, payer)
    if until is None:
        return
    move = Move(amount, payer, MERCHANT, frozenset({request}), made_by=payer)
    sent = world.home.send(payer, [move], effect=f"pay{payer}")
    _pay(world, step, Intent("proof", request, amount, sent, until))


def sign_operation(world: World, step: Step) -> None:
    """Sign an operation of a smart wallet; whoever likes bundles it."""
    request = world.pick(step.a)
    if request is None:
        return
    wallet, until = world.somebody("wallet"), None
    kind = "wallet"
    if step.b % 3 == 0 or not world.requests[request].references:
        kind, until = "proved wallet", world.prove(request, wallet)
        if until is None:
            return
    amount = _amount(world, request, step)
    world.intents.append(Intent(kind, request, amount, None, until, wallet=wallet))


def bundle(world: World, step: Step) -> None:
    """Have an honest bundler put the waiting operations into one transaction."""
    moves = [_operation(world, intent) for intent in _waiting(world)]
    if moves:
        sent = world.home.send(BUNDLER, moves, runs_code=True)
        _bundled(world, sent, _waiting(world), step)


def swap(world: World, step: Step) -> None:
    """Pay by a swap that brings the money in its own transaction."""
    request = world.pick(step.a)
    if request is None:
        return
    amount, payer = _amount(world, request, step), world.somebody("customer")
    call = world.quote(request, world.home_chain, amount, world.home)
    owners = frozenset({request})
    move = Move(amount, _router(world), MERCHANT, owners, within=(0,), is_inner=True, is_direct_swap=True)
    sent = world.home.send(payer, [move], mentions=(call,), runs_code=True)
    world.swapped[sent.hash] = (amount, MERCHANT)
    _pay(world, step, Intent("swap", request, amount, sent))


def bridge(world: World, step: Step) -> None:
    """Pay by a swap from the other chain, which a relayer has to deliver."""
    request = world.pick(step.a)
    if request is None:
        return
    amount, payer = _amount(world, request, step), world.somebody("customer")
    call = world.quote(request, world.source_chain, amount, world.source)
    sent = world.source.send(payer, mentions=(call,), runs_code=True)
    order = Order(sent, amount, MERCHANT, frozenset({request}))
    world.orders.append(order)
    intent = Intent("bridge", request, amount, sent, order=order)
    world.intents.append(intent)
    if "page closed" not in step.tricks:
        world.submit(request, sent.hash, world.source_chain)
        intent.is_submitted = True


def speed_up(world: World, step: Step) -> None:
    """Send the same again for a higher fee, with the same nonce."""
    intent = _unmined(world, step.a)
    if intent and intent.sent:
        intent.sent = world.home.replace(intent.sent, intent.sent.moves, intent.sent.effect)
        if step.n % 2:
            world.submit(intent.request, intent.sent.hash)


def call_off(world: World, step: Step) -> None:
    """Send something else with the same nonce: nothing at all."""
    intent = _unmined(world, step.a)
    if intent and intent.sent:
        world.home.replace(intent.sent, (), "nothing")
        world.intents.remove(intent)


def submit_again(world: World, step: Step) -> None:
    """Have a customer's page submit what it knows."""
    for intent in world.intents:
        if intent.sent:
            chain = world.source_chain if intent.order else world.home_chain
            world.submit(intent.request, intent.sent.hash, chain)
            intent.is_submitted = True


def _pay(world: World, step: Step, intent: Intent) -> None:
    world.intents.append(intent)
    if intent.sent and "page closed" not in step.tricks:
        world.submit(intent.request, intent.sent.hash)
        intent.is_submitted = True


def _amount(world: World, request: UUID, step: Step) -> int:
    """Return what the customer pays: mostly exactly what is asked."""
    return step.n if step.n > 7 else int(world.requests[request].amount)


def _router(world: World) -> str:
    """Return who sends what a swap brings: the router itself or, on Solana, the authority of a pool."""
    return "pool-authority" if world.home.is_solana else ROUTER


def _unmined(world: World, which: int) -> Intent | None:
    if world.home.is_solana:
        return None
    some = [
        intent
        for intent in world.intents
        if intent.kind in ("reference", "proof") and intent.sent and intent.sent.at == POOL
    ]
    return some[which % len(some)] if some else None


def _waiting(world: World) -> list[Intent]:
    """Return the operations that were signed and are in no transaction that may be mined."""
    return [
        intent
        for intent in world.intents
        if intent.wallet and (intent.sent is None or intent.sent.at == GONE)
    ]


def _operation(world: World, intent: Intent) -> Move:
    """Return the movement that a smart wallet's owner signed."""
    reference = bytes(world.requests[intent.request].reference)
    return Move(
        intent.amount,
        intent.wallet,
        MERCHANT,
        frozenset({intent.request}),
        made_by=intent.wallet,
        references=(reference,) if intent.kind == "wallet" else (),
        is_inner=not world.home.is_solana,
    )


def _bundled(world: World, sent: Sent, intents: list[Intent], step: Step) -> None:
    for intent in intents:
        _void(intent.sent, frozenset({intent.request}))
        intent.sent = sent
        if "page closed" not in step.tricks:
            world.submit(intent.request, sent.hash)
            intent.is_submitted = True


# --- relayers, nodes and time ------------------------------------------------------------------------------------


def deliver(world: World, step: Step) -> None:
    """Have an honest relayer deliver one order, or all that wait, in one transaction."""
    orders = _undelivered(world)
    if step.n % 2 and orders:
        orders = [orders[step.a % len(orders)]]
    moves = [_delivery(world, order, step.b, FILLER) for order in orders]
    if moves:
        sent = world.home.send(FILLER, moves, runs_code=True)
        for order in orders:
            _delivered(order, sent)


def _delivered(order: Order, sent: Sent) -> None:
    _void(order.delivered, order.owners)
    order.delivered = sent


def _void(gone: Sent | None, owners: Owners) -> None:
    """Have a transaction that is gone move nothing of this owner's any more: that has been sent by another."""
    if gone is not None:
        gone.moves = tuple(
            replace(move, amount=0, owners=NOBODY, references=()) if move.owners == owners else move
            for move in gone.moves
        )


def _undelivered(world: World) -> list[Order]:
    """Return the orders that their provider may have delivered: what they pay with is mined."""
    return [
        order
        for order in world.orders
        if order.source.is_mined and (order.delivered is None or order.delivered.at == GONE)
    ]


def _delivery(world: World, order: Order, how: int, filler: str, within: tuple[int, ...] = ()) -> Move:
    """Return the movement that delivers an order: out of the bridge, minted, or pulled from whoever fills it."""
    mint = "" if world.home.is_solana else ZERO
    sender = (BRIDGE, mint, filler)[how % 3]
    return Move(order.amount, sender, order.account, order.owners, within=within, is_inner=True)


def mine(world: World, step: Step) -> None:
    for _ in range(1 + step.n % 3):
        world.mine()


def reorganise(world: World, step: Step) -> None:
    ledger = world.source if step.a == 5 else world.home
    ledger.reorganise(1 + step.n % 3, drop="drop" in step.tricks, flip="flip" in step.tricks)


def rebroadcast(world: World, step: Step) -> None:
    sent = world.sent_anywhere(step.a)
    if sent:
        world.home.rebroadcast(sent)


def go_down(world: World, step: Step) -> None:
    """Have nodes or the provider give no answer for a look."""
    world.home.is_down, world.provider_is_silent = step.n % 2 == 0, step.n % 3 == 0
    world.look()
    world.home.is_down = world.provider_is_silent = False


def look(world: World, step: Step) -> None:
    for _ in range(3 if step.n == 9 else 1):
        world.look()


def wait(world: World, step: Step) -> None:
    world.wait(timedelta(minutes=20 * step.n))


# --- merchants ---------------------------------------------------------------------------------------------------


def create(world: World, step: Step) -> None:
    world.create(step.n, of=step.b % 2, references=step.a != 5)


def cancel(world: World, step: Step) -> None:
    request = world.pick(step.a)
    if request:
        with suppress(ApiError):
            cancel_request(request, actor="api")


def accept(world: World, step: Step) -> None:
    """Accept the first payment of a request that may be accepted."""
    request = world.pick(step.a)
    for payment in Payment.objects.filter(request=request, status=Payment.Status.FAILED):
        with suppress(ApiError):
            accept_payment(payment, reason="I know them", actor="api")
            world.accepted.add(payment.pk)
            return


def retry(world: World, step: Step) -> None:
    request = world.pick(step.a)
    for payment in Payment.objects.filter(request=request, status=Payment.Status.FAILED):
        with suppress(ApiError):
            retry_payment(payment, actor="api")


# --- thieves -----------------------------------------------------------------------------------------------------


def steal(world: World, step: Step) -> None:
    """Submit any transaction for any request."""
    request, sent = world.pick(step.b), world.sent_anywhere(step.a)
    if request and sent:
        world.submit(request, sent.hash, by="thief")


def junk(world: World, step: Step) -> None:
    """Submit hashes that nobody ever sent."""
    request = world.pick(step.a)
    for _ in range(1 + step.n % 3 * 3 if request else 0):
        assert request
        world.submit(request, world.home.new_hash(), by="thief" if step.b % 2 else "")


def prove_own(world: World, step: Step) -> None:
    """Prove an address of the thief's own, a contract's too."""
    request = world.pick(step.b)
    if request:
        world.prove(request, (THIEF, THIEFS_CONTRACT)[step.n % 2])


def begin_own_swap(world: World, step: Step) -> None:
    """Begin a swap from the other chain that delivers to the merchant or, changed by the thief, to the thief."""
    request = world.pick(step.b)
    if request is None:
        return
    call = world.quote(request, world.source_chain, step.n, world.source)
    sent = world.source.send(THIEF, mentions=(call,), runs_code=True)
    account = THIEFS_OTHER if step.a % 2 else MERCHANT
    world.orders.append(Order(sent, step.n, account, THE_THIEFS))
    world.submit(request, sent.hash, world.source_chain, by="thief")


WITH_THEIR_OWN = ("pay", "pay nothing", "pay plainly", "swap", "swap to myself", "round")
TWISTS = (
    *("by contract", "pull", "two references", "another's reference", "another's id", "only log", "inside"),
    *("back", "back", "second account", "other token", "loud", "submit to all"),
)


def compose(world: World, step: Step) -> None:
    """Put together one transaction out of others' money and the thief's own, and submit it for a request."""
    mine_, theirs = world.pick(step.b), world.pick(step.a)
    if mine_ is None or theirs is None:
        return
    tricks = step.tricks
    mentions = _mentions(world, step, mine_, theirs)
    own_call = (len(mentions) - 1,) if mentions and not mentions[-1].is_log else ()
    within = own_call if "inside" in tricks else ()
    moves, orders, intents = [], [], []
    if "deliver" in tricks and (waiting := _undelivered(world)):
        orders = [waiting[step.a % len(waiting)]]
        moves.append(_delivery(world, orders[0], step.n, THIEF, within))
    if "operation" in tricks and (signed := _waiting(world)):
        intents = [signed[step.a % len(signed)]]
        moves.append(_operation(world, intents[0]))
    moves += _own_moves(world, step, mine_, theirs, own_call)
    if step.n % 2:
        moves.reverse()
    sent = world.home.send(
        THIEF,
        moves,
        mentions=mentions,
        runs_code=True,
        noise=(Noise.UNREADABLE, Noise.CONTRADICTED)[step.n % 2] if "loud" in tricks else Noise.QUIET,
    )
    for order in orders:
        _delivered(order, sent)
    if "swap" in tricks or "swap to myself" in tricks:
        to = THIEFS_OTHER if "swap to myself" in tricks else MERCHANT
        world.swapped[sent.hash] = (step.n, to)
    for request in world.requests if "submit to all" in tricks else (mine_,):
        world.submit(request, sent.hash, by="thief")
    _bundled(world, sent, intents, step)


def _mentions(world: World, step: Step, mine_: UUID, theirs: UUID) -> tuple[Mention, ...]:
    """Return the calls of the router: with another's id, with the thief's own, the innermost last."""
    calls = []
    if "another's id" in step.tricks:
        calls += [Mention(ROUTER, b"call" + known) for known in world.quotes.get(theirs, ())[:1]]
    if "swap" in step.tricks or "swap to myself" in step.tricks:
        calls.append(world.quote(mine_, world.home_chain, step.n, world.home))
    if "only log" in step.tricks:
        calls = [Mention(ROUTER, call.data[4:], is_log=True) for call in calls if not world.home.is_solana]
    return tuple(calls)


def _own_moves(world: World, step: Step, mine_: UUID, theirs: UUID, own_call: tuple[int, ...]) -> list[Move]:
    """Return what the thief moves beside others' money."""
    tricks, reference = step.tricks, bytes(world.requests[mine_].reference)
    references: tuple[bytes, ...] = (reference,)
    if "two references" in tricks and mine_ != theirs:
        references = (reference, bytes(world.requests[theirs].reference))
    if "another's reference" in tricks:
        references = (bytes(world.requests[theirs].reference),)
    # After a call's arguments there is room for one.
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
        moves.append(Move(step.n, _router(world), MERCHANT, THE_THIEFS, within=own_call, is_inner=True))
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
    """Return the merchant's own money on its way round: between two accounts, or through the thief's contract."""
    if world.home.is_solana:
        return [Move(step.n, MERCHANT, MERCHANT, NOBODY, MERCHANT, references, source="second")]
    is_passed_on = "second account" in step.tricks
    last = THIEFS_CONTRACT if is_passed_on else THIEFS_OTHER
    moves = [
        Move(0, MERCHANT, MERCHANT, NOBODY, "", references, is_inner=True),
        Move(step.n, MERCHANT, MERCHANT, NOBODY, "", references, is_inner=True),
        Move(step.n, MERCHANT, THIEFS_OTHER, NOBODY, is_inner=True),
        Move(step.n, last, MERCHANT, NOBODY, last, references, is_inner=True),
    ]
    # What comes first from another account than gets it is a payment that the merchant passes on: `compose` turns this.
    return moves[::-1] if is_passed_on and step.n % 2 else moves


ACTIONS = {
    function.__name__: function
    for function in (
        *(
            create,
            pay,
            pay_with_proof,
            sign_operation,
            bundle,
            swap,
            bridge,
            speed_up,
            call_off,
            submit_again,
        ),
        *(deliver, mine, reorganise, rebroadcast, go_down, look, wait, cancel, accept, retry),
        *(steal, junk, prove_own, begin_own_swap, compose),
    )
}
# Steps of which the service sees nothing before it looks.
ONLY_ON_THE_CHAIN = {"mine", "reorganise", "rebroadcast", "deliver", "call_off"}
