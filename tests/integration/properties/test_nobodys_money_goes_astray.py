"""Random histories of customers, merchants, relayers and thieves, against a model that knows the owner of all money.

No request is credited with money that was meant for another one, and no money that arrived is lost.
`SEQUENCES=20000` tries that many histories (default 20). `make properties` does so in two processes.
"""

import gc
import itertools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chains.models import Chain
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.models import Payment
from payments.submission.hashes import retry_payment
from tests.integration.properties import counts
from tests.integration.properties.actions import ACTIONS, ONLY_ON_THE_CHAIN, take
from tests.integration.properties.ledger import FINALITY, GONE, POOL, TOKEN, Noise
from tests.integration.properties.oracle import Oracle
from tests.integration.properties.people import Step, bundle, sign_by_hand
from tests.integration.properties.thieves import TWISTS, WITH_THEIR_OWN
from tests.integration.properties.world import (
    SETTINGS,
    Clock,
    Intent,
    Setting,
    World,
    make_catalogue,
    ruled_by,
)

# Lookups at the end: for the money, the provider's status, the delivery that it names, and changes in the
# meantime.
ROUNDS = 6
OFTEN = (
    "compose",
    "compose",
    "look",
    "mine",
    "pay",
    "bridge",
    "deliver",
    "steal",
    "sign_operation",
    "propose",
    "bundle",
    "accept",
    "pay_by_hand",
    "pay_by_hand",
    "sign_afterwards",
    "prove_afterwards",
    "reorganise",
)
CHAINS_DO = st.frozensets(st.sampled_from(("drop", "flip", "page closed")))
THIEVES_DO = st.builds(
    lambda *kinds: frozenset().union(*kinds),
    st.sampled_from([(), ("deliver",), ("operation",), ("deliver", "operation")]),
    st.frozensets(st.sampled_from(WITH_THEIR_OWN), max_size=2),
    st.frozensets(st.sampled_from(TWISTS), max_size=3),
)
STEPS = st.lists(
    st.sampled_from((*OFTEN, *OFTEN, *sorted(ACTIONS))).flatmap(
        lambda action: st.builds(
            Step,
            st.just(action),
            st.integers(0, 5),
            st.integers(0, 5),
            st.integers(1, 9),
            THIEVES_DO if action == "compose" else CHAINS_DO,
        )
    ),
    min_size=4,
    max_size=20,
)


_BEGUN = itertools.count()
_AT_ONCE = 50


def clear_away() -> None:
    """Vacuum: histories are rolled back and leave dead rows, which make reads slower and slower."""
    if next(_BEGUN) % _AT_ONCE == 0:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")


@pytest.fixture(scope="module", autouse=True)
def show_counts() -> Iterator[None]:
    """Print the counts of actions.

    Freeze the imported objects: garbage collection of them took a tenth of the time.
    """
    gc.freeze()
    yield
    gc.unfreeze()
    counts.show()


@pytest.fixture
def catalogue(db: None) -> Mapping[int, Chain]:
    return make_catalogue(TOKEN)


@pytest.mark.django_db(transaction=True)
@settings(
    max_examples=int(os.environ.get("SEQUENCES", "20")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(setting=st.sampled_from(SETTINGS), steps=STEPS)
def test_each_unit_is_credited_once_to_its_intended_request(
    merchant: Merchant,
    other_merchant: Merchant,
    catalogue: Mapping[int, Chain],
    setting: Setting,
    steps: list[Step],
) -> None:
    clear_away()
    clock = Clock()
    with ruled_by(clock), transaction.atomic():
        world = World((merchant, other_merchant), catalogue, setting, clock)
        oracle = Oracle(world)
        world.create(3)
        world.create(2, of=1)
        for action in ("bridge", "sign_operation", "mine"):
            take(world, Step(action, 0, 1, 3))
        for step in steps:
            take(world, step)
            if step.action not in ONLY_ON_THE_CHAIN:
                oracle.check()
        come_to_an_end(world, oracle)
        transaction.set_rollback(True)


def come_to_an_end(world: World, oracle: Oracle) -> None:
    """Make everyone honest, the nodes responsive and the chain final. Then no money may be missing."""
    for sent in world.home.sent.values():
        if sent.noise is Noise.CONTRADICTED:
            sent.noise = Noise.QUIET
    bundle(world, Step("bundle", 0, 0, 1, frozenset({"page closed"})))
    for _ in range(FINALITY + 1):
        world.mine()
    before = None
    for number in range(ROUNDS):
        missing = oracle.missing()
        payments = list(oracle.payments.values())
        # The chain no longer changes. If a round changed nothing, later rounds won't either.
        if (not missing and not any(row.is_open for row in payments)) or payments == before:
            break
        before = payments
        for intent in missing:
            _follow_up(world, intent)
        # The chain no longer changes. A second retry only helps a payment for which another one must come
        # first.
        _retry_what_failed(world.requests if number == 0 else {intent.request for intent in missing})
        world.look()
        oracle.check()
    oracle.check_nothing_is_lost()
    oracle.check_events()
    oracle.count_credits()


def _retry_what_failed(requests: Collection[UUID]) -> None:
    failed = Payment.objects.filter(request__in=requests, status=Payment.Status.FAILED, retries__lt=2)
    for payment in failed:
        with suppress(ApiError):
            retry_payment(payment, actor="api")


def _follow_up(world: World, intent: Intent) -> None:
    """Have the customer's page submit the wallet's current hash. If it can't, the merchant submits it."""
    sent = intent.sent
    if intent.is_proposed:
        return  # its execution must be found by the id
    if sent is None or intent.order is not None and not intent.is_submitted and sent.at == GONE:
        return
    ledger = world.source if intent.order else world.home
    for other in ledger.sent.values():
        is_same = (other.sender, other.nonce, other.effect) == (sent.sender, sent.nonce, sent.effect)
        if is_same and other.is_mined:
            intent.sent = sent = other
    if sent.at in (POOL, GONE):
        return
    chain = world.source_chain if intent.order else world.home_chain
    if world.submit(intent.request, sent.hash, chain):
        world.submit_as_merchant(intent.request, sent.hash, chain)
    sign_by_hand(world, intent)


@pytest.mark.django_db
@pytest.mark.parametrize("setting", [SETTINGS[0], SETTINGS[5]], ids=["evm", "solana"])
def test_model_credits_what_its_sender_signed_for_afterwards(
    merchant: Merchant, other_merchant: Merchant, catalogue: Mapping[int, Chain], setting: Setting
) -> None:
    """If no proof ever bound, the model and the service would agree without a test of proofs."""
    clock = Clock()
    with ruled_by(clock):
        world = World((merchant, other_merchant), catalogue, setting, clock)
        oracle = Oracle(world)
        request = world.create(3)
        for action in ("pay_by_hand", "mine", "mine", "look", "prove_afterwards", "look"):
            take(world, Step(action, 0, 0, 3))
        assert Payment.objects.get().failure_code == "transaction_not_bound"
        for action in ("sign_afterwards", "look"):
            take(world, Step(action, 0, 0, 3))
        assert (Payment.objects.get().bound_by, world.intents[0].is_proved_afterwards) == ("payer", True)
        oracle.check()
        request.refresh_from_db()
        assert request.amount_paid == 3


OFFLINE = frozenset({"page closed"})
BEGIN = (Step("bridge", 0, 0, 3), Step("sign_operation", 0, 1, 3), Step("mine", 0, 0, 3))
CREDIT = (Step("mine", 0, 0, 1), Step("look", 0, 0, 9))
DROP = Step("reorganise", 0, 0, 2, frozenset({"drop"}))
DELIVER, BUNDLE, AGAIN = Step("deliver", 0, 0, 2), Step("bundle", 0, 0, 1), Step("rebroadcast", 0, 0, 1)
COMPOSE = Step("compose", 0, 0, 4, frozenset({"deliver", "operation"}))
MOVED = {
    "delivery, credited, beside an operation": (3, 6, (DELIVER, *CREDIT, DROP, COMPOSE)),
    "delivery, credited, and mined without it": (3, 6, (DELIVER, *CREDIT, DROP, DELIVER, AGAIN)),
    "operation, credited, found by its id": (
        3,
        3,
        (Step("propose", 0, 0, 1), replace(BUNDLE, tricks=OFFLINE), *CREDIT, DROP),
    ),
    "operation, and mined without it": (0, 6, (COMPOSE, Step("mine", 0, 0, 1), DROP, BUNDLE, AGAIN)),
}


def take_all(world: World, oracle: Oracle, steps: Sequence[Step]) -> None:
    for step in (*BEGIN, *steps):
        take(world, step)
        if step.action not in ONLY_ON_THE_CHAIN:
            oracle.check()


@pytest.mark.django_db
@pytest.mark.parametrize(("before", "after", "steps"), MOVED.values(), ids=MOVED)
def test_model_agrees_when_other_transaction_brings_money(
    merchant: Merchant,
    other_merchant: Merchant,
    catalogue: Mapping[int, Chain],
    before: int,
    after: int,
    steps: Sequence[Step],
) -> None:
    """A reorganisation undoes the first transaction. The second must not credit the same money again."""
    clock = Clock()
    with ruled_by(clock):
        world = World((merchant, other_merchant), catalogue, SETTINGS[0], clock)
        oracle = Oracle(world)
        request = world.create(3)
        take_all(world, oracle, steps)
        request.refresh_from_db()
        assert request.amount_paid == before
        come_to_an_end(world, oracle)
        request.refresh_from_db()
        assert request.amount_paid == after


@pytest.mark.django_db
def test_model_misses_money_beside_delivery_credited_before(
    merchant: Merchant, other_merchant: Merchant, catalogue: Mapping[int, Chain]
) -> None:
    """The earlier credit excuses only the delivery, not other money in the same transaction."""
    clock = Clock()
    with ruled_by(clock):
        world = World((merchant, other_merchant), catalogue, SETTINGS[0], clock)
        oracle = Oracle(world)
        world.create(3)
        take_all(world, oracle, (DELIVER, *CREDIT, DROP, COMPOSE))
        come_to_an_end(world, oracle)
        operation = world.intents[1]
        assert operation.sent
        oracle.credits = {
            (hash_, slot): row
            for (hash_, slot), row in oracle.credits.items()
            if hash_ != operation.sent.hash
        }
        assert oracle.missing()[1:] == [operation]
        with pytest.raises(AssertionError, match=operation.proposal):
            oracle.check_nothing_is_lost()


@pytest.mark.django_db
def test_model_finds_an_id_that_a_thief_submitted_first(
    merchant: Merchant, other_merchant: Merchant, catalogue: Mapping[int, Chain]
) -> None:
    """The service searches for the id with both accounts. No page submits the execution's hash."""
    clock = Clock()
    with ruled_by(clock):
        world = World((merchant, other_merchant), catalogue, SETTINGS[0], clock)
        oracle = Oracle(world)
        request = world.create(3)
        for step in (
            Step("sign_operation", 0, 1, 3),
            Step("propose_anything", 0, 0, 2),
            Step("propose", 0, 0, 1),
        ):
            take(world, step)
        accounts = Payment.objects.get().lookup.proposal_accounts
        assert accounts[1:] == [world.intents[0].wallet]
        assert world.intents[0].is_proposed
        come_to_an_end(world, oracle)
        request.refresh_from_db()
        assert request.amount_paid == 3
