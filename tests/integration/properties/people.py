"""Actions of honest customers, relayers and merchants, and changes by nodes and time."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from config.api.errors import ApiError
from payments.models import Lookup, Payment, PaymentRequest, TransferProof
from payments.requests.lifecycle import cancel_request
from payments.submission.hashes import retry_payment
from payments.submission.merchant_acceptance import accept_payment
from tests.integration.properties.counts import HAPPENED
from tests.integration.properties.ledger import (
    BRIDGE,
    DEPTH,
    GONE,
    MERCHANT,
    POOL,
    ROUTER,
    UNOWNED,
    ZERO,
    Executed,
    Move,
    Sent,
)
from tests.integration.properties.world import Intent, Order, World

FILLER = "0xhonest-relayer"
BUNDLER = "0xhonest-bundler"


@dataclass(frozen=True)
class Step:
    """One step of a history. `a` and `b` select objects; `n` is an amount or a variant."""

    action: str
    a: int
    b: int
    n: int
    tricks: frozenset[str] = frozenset()


# --- honest customers --------------------------------------------------------------------------------------------


def pay(world: World, step: Step) -> None:
    """Pay with an ordinary transfer that has the request's reference."""
    request = world.pick(step.a)
    if request is None or not world.requests[request].references:
        return
    amount, payer = _amount(world, request, step), world.new_address("customer")
    reference = bytes(world.requests[request].reference)
    move = Move(amount, payer, MERCHANT, frozenset({request}), made_by=payer, references=(reference,))
    _pay(
        world,
        step,
        Intent("reference", request, amount, world.home.send(payer, [move], effect=f"pay{payer}")),
    )


def pay_with_proof(world: World, step: Step) -> None:
    """Prove the wallet, then send the money without a reference."""
    request = world.pick(step.a)
    if request is None:
        return
    amount, payer = _amount(world, request, step), world.new_address("customer")
    until = world.prove(request, payer)
    if until is None:
        return
    move = Move(amount, payer, MERCHANT, frozenset({request}), made_by=payer)
    sent = world.home.send(payer, [move], effect=f"pay{payer}")
    _pay(world, step, Intent("proof", request, amount, sent, until))


def pay_by_hand(world: World, step: Step) -> None:
    """Send the money without a reference, as some wallets do."""
    request = world.pick(step.a)
    if request is None:
        return
    amount, payer = _amount(world, request, step), world.new_address("customer")
    move = Move(amount, payer, MERCHANT, frozenset({request}), made_by=payer)
    sent = world.home.send(payer, [move], effect=f"pay{payer}")
    _pay(world, step, Intent("by hand", request, amount, sent, payer=payer))


def sign_afterwards(world: World, step: Step) -> None:
    """Have the customers sign proofs for their transfers by hand."""
    for intent in world.intents:
        sign_by_hand(world, intent)


def sign_by_hand(world: World, intent: Intent) -> None:
    """Have the customer sign a proof for a transfer by hand. It counts if nothing else claims the transfer."""
    if intent.kind != "by hand" or intent.sent is None:
        return
    must_bind = _is_provable(world, intent)
    result = world.prove_afterwards(intent.request, intent.sent.hash, intent.payer, intent.payer)
    HAPPENED[f"customer's proof afterwards: {result}"] += 1
    intent.is_proved_afterwards |= result == "bound"
    assert result == "bound" or not must_bind, f"{result} for {intent}"


def _is_provable(world: World, intent: Intent) -> bool:
    """Whether the money is mined, belongs to no other request, and its request still needs a payment."""
    sent, request = intent.sent, PaymentRequest.objects.get(pk=intent.request)
    payments = Payment.objects.filter(transaction_hash=sent.hash) if sent else Payment.objects.none()
    own = payments.filter(request=request).first()
    return bool(
        own is not None
        and own.status != Payment.Status.COMPLETED
        and not TransferProof.objects.filter(payment=own, verified_at__isnull=False).exists()
        and not any(payment.pk in world.accepted for payment in payments)
        and sent
        and sent.is_mined
        and sent.succeeds
        and not world.home.is_down
        and sent.mined_at
        and world.clock() - sent.mined_at < timedelta(minutes=60)
        and request.status == PaymentRequest.Status.ACTIVE
        and world.clock() < request.expires_at
    )


def sign_operation(world: World, step: Step) -> None:
    """Sign an operation of a smart wallet. Anyone may bundle it."""
    request = world.pick(step.a)
    if request is None:
        return
    wallet, until = world.new_address("wallet"), None
    kind = "wallet"
    if step.b % 3 == 0 or not world.requests[request].references:
        kind, until = "proved wallet", world.prove(request, wallet)
        if until is None:
            return
    amount = _amount(world, request, step)
    if not world.home.is_solana:
        world.home.accounts.add(wallet)
    id_ = world.home.new_hash()
    world.intents.append(Intent(kind, request, amount, None, until, wallet=wallet, proposal=id_))


def propose(world: World, step: Step) -> None:
    """Submit the id that a smart wallet returned, as its customer's page does."""
    signed = [intent for intent in world.intents if intent.wallet in world.home.accounts]
    if some := [intent for intent in signed if intent.sent is None] or signed:
        intent = some[step.a % len(some)]
        was_taken = world.propose(intent.request, intent.wallet, intent.proposal) == ""
        HAPPENED[f"customer's id: {'accepted' if was_taken else 'rejected'}"] += 1
        own = Lookup.objects.filter(of_payment__request=intent.request, proposal_id=intent.proposal)
        is_searched_for = any(intent.wallet in lookup.proposal_accounts for lookup in own)
        # If no node responds, the service treats the id as a hash. If a thief submitted the id first, the
        # service also searches with the customer's account.
        intent.is_proposed |= was_taken and is_searched_for and not world.home.is_down


def bundle(world: World, step: Step) -> None:
    """Have an honest bundler put the pending operations into one transaction. One of them may fail for good."""
    intents = waiting_operations(world)
    if not intents:
        return
    failing = sorted(intents, key=lambda each: not each.is_proposed)[:1] if step.n % 4 == 0 else []
    intents = [intent for intent in intents if intent not in failing]
    moves = [signed_move(world, intent) for intent in intents]
    sent = world.home.send(BUNDLER, moves, runs_code=True)
    for intent in failing:
        world.intents.remove(intent)
        if intent.wallet in world.home.accounts:
            world.home.executed.append(Executed(intent.wallet, intent.proposal, sent.hash, has_failed=True))
    note_bundle(world, sent, intents, step)


def swap(world: World, step: Step) -> None:
    """Pay with a swap that delivers the money in the same transaction."""
    request = world.pick(step.a)
    if request is None:
        return
    amount, payer = _amount(world, request, step), world.new_address("customer")
    call = world.quote(request, world.home_chain, amount, world.home)
    owners = frozenset({request})
    move = Move(amount, router_of(world), MERCHANT, owners, within=(0,), is_inner=True, is_direct_swap=True)
    sent = world.home.send(payer, [move], mentions=(call,), runs_code=True)
    world.swapped[sent.hash] = (amount, MERCHANT)
    _pay(world, step, Intent("swap", request, amount, sent))


def bridge(world: World, step: Step) -> None:
    """Pay with a swap from the other chain. A relayer must deliver it."""
    request = world.pick(step.a)
    if request is None:
        return
    amount, payer = _amount(world, request, step), world.new_address("customer")
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
    """Send the same transaction with a higher fee and the same nonce."""
    intent = _unmined(world, step.a)
    if intent and intent.sent:
        intent.sent = world.home.replace(intent.sent, intent.sent.moves, intent.sent.effect)
        if step.n % 2:
            world.submit(intent.request, intent.sent.hash)


def call_off(world: World, step: Step) -> None:
    """Cancel: send an empty transaction with the same nonce."""
    intent = _unmined(world, step.a)
    if intent and intent.sent:
        world.home.replace(intent.sent, (), "nothing")
        world.intents.remove(intent)


def submit_again(world: World, step: Step) -> None:
    """Have the customers' pages submit all hashes that they know."""
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
    """Return the amount that the customer pays, mostly the requested one."""
    return step.n if step.n > 7 else int(world.requests[request].amount)


def router_of(world: World) -> str:
    """Return the sender of a swap's money: the router or, on Solana, a pool's authority."""
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


def waiting_operations(world: World) -> list[Intent]:
    """Return the signed operations that are in no transaction which can be mined."""
    return [
        intent
        for intent in world.intents
        if intent.wallet and (intent.sent is None or intent.sent.at == GONE)
    ]


def signed_move(world: World, intent: Intent) -> Move:
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
        executes=intent.proposal,
    )


def note_bundle(world: World, sent: Sent, intents: list[Intent], step: Step) -> None:
    for intent in intents:
        _void(intent.sent, intent.proposal)
        intent.sent = sent
        if intent.wallet in world.home.accounts:
            world.home.executed.append(Executed(intent.wallet, intent.proposal, sent.hash))
        if "page closed" not in step.tricks:
            world.submit(intent.request, sent.hash)
            intent.is_submitted = True


# --- relayers, nodes and time ------------------------------------------------------------------------------------


def deliver(world: World, step: Step) -> None:
    """Have an honest relayer deliver one order or all pending ones in one transaction."""
    orders = undelivered(world)
    if step.n % 2 and orders:
        orders = [orders[step.a % len(orders)]]
    moves = [delivery_of(world, order, step.b, FILLER) for order in orders]
    if moves:
        sent = world.home.send(FILLER, moves, runs_code=True)
        for order in orders:
            note_delivery(order, sent)


def note_delivery(order: Order, sent: Sent) -> None:
    _void(order.delivered, order.source.hash)
    order.delivered = sent


def _void(gone: Sent | None, executed: str) -> None:
    """Remove this execution from a dropped transaction, because another one has executed it."""
    if gone is not None:
        gone.moves = tuple(
            replace(move, amount=0, owners=UNOWNED, references=()) if move.executes == executed else move
            for move in gone.moves
        )


def undelivered(world: World) -> list[Order]:
    """Return the orders whose payment is mined, so that the provider may deliver them."""
    return [
        order
        for order in world.orders
        if order.source.is_mined and (order.delivered is None or order.delivered.at == GONE)
    ]


def delivery_of(world: World, order: Order, how: int, filler: str, within: tuple[int, ...] = ()) -> Move:
    """Return the movement that delivers an order: sent by the bridge, minted, or sent by the filler."""
    mint = "" if world.home.is_solana else ZERO
    sender = (BRIDGE, mint, filler)[how % 3]
    executes = order.source.hash
    return Move(
        order.amount, sender, order.account, order.owners, within=within, is_inner=True, executes=executes
    )


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
    """Have the nodes or the provider not respond to one lookup."""
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
    """Accept a request's first payment that can be accepted, mostly once its block is deep enough."""
    request, is_waited_for = world.pick(step.a), step.n % 3 > 0
    if is_waited_for:
        for _ in range(DEPTH):
            world.mine()
        world.look()
    for payment in Payment.objects.filter(request=request, status=Payment.Status.FAILED):
        with suppress(ApiError):
            accept_payment(payment, reason="I know them", actor="api")
            world.accepted.add(payment.pk)
            break
    if is_waited_for:
        world.look()


def retry(world: World, step: Step) -> None:
    request = world.pick(step.a)
    for payment in Payment.objects.filter(request=request, status=Payment.Status.FAILED):
        with suppress(ApiError):
            retry_payment(payment, actor="api")
