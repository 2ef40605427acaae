"""All actions that can occur in a history, by name."""

from datetime import timedelta

from tests.integration.properties.counts import HAPPENED
from tests.integration.properties.people import (
    Step,
    accept,
    bridge,
    bundle,
    call_off,
    cancel,
    create,
    deliver,
    go_down,
    look,
    mine,
    pay,
    pay_by_hand,
    pay_with_proof,
    propose,
    rebroadcast,
    reorganise,
    retry,
    sign_afterwards,
    sign_operation,
    speed_up,
    submit_again,
    swap,
    wait,
)
from tests.integration.properties.thieves import (
    begin_own_swap,
    compose,
    forge,
    junk,
    propose_anything,
    prove_afterwards,
    prove_own,
    steal,
)
from tests.integration.properties.world import World


def take(world: World, step: Step) -> None:
    world.clock.forward(timedelta(seconds=1))
    HAPPENED[step.action] += 1
    ACTIONS[step.action](world, step)


ACTIONS = {
    function.__name__: function
    for function in (
        *(
            create,
            pay,
            pay_by_hand,
            pay_with_proof,
            sign_afterwards,
            sign_operation,
            propose,
            bundle,
            swap,
            bridge,
            speed_up,
            call_off,
            submit_again,
        ),
        *(deliver, mine, reorganise, rebroadcast, go_down, look, wait, cancel, accept, retry),
        *(steal, junk, prove_own, prove_afterwards, begin_own_swap, compose, propose_anything, forge),
    )
}
# The service doesn't notice these steps until its next lookup.
ONLY_ON_THE_CHAIN = {"mine", "reorganise", "rebroadcast", "deliver", "call_off"}
