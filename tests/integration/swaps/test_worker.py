"""The running service follows a swap: beat wakes a worker, which queries the provider.

If it is killed, another takes over.
"""

from pathlib import Path

import pytest

from payments.models import ConsumedTransfer, Payment, Swap, Transition
from tests.leases import end_leases
from tests.processes import beat, eventually, worker
from tests.support.swaps.fixtures import NewCustomer
from tests.support.swaps.following import pay_by_swap
from tests.support.swaps.world import SwapWorld
from webhooks.models import Event


def asked_for_status(world: SwapWorld) -> int:
    return sum("/status" in call.path for call in world.aggregator.calls.made)


@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_while_the_provider_hangs(
    new_customer: NewCustomer, swap_world: SwapWorld, tmp_path: Path
) -> None:
    world = swap_world
    world.aggregator.set(status="hang")
    customer = new_customer(world.token(world.second_row, "USDC"))
    payment_id, sent = pay_by_swap(world, customer, world.token(world.first_row, "ETH"))
    world.aggregator.delivered(sent)
    ticking = beat(tmp_path / "beat.log")
    working = worker(tmp_path / "worker.log", LIFI_API_URL=world.aggregator.url)
    try:
        eventually(lambda: asked_for_status(world) > 0, "the provider was asked")
        direct = new_customer(world.token(world.second_row, "USDC"))
        route = direct.routes(world.token(world.second_row, "USDC"))[0]
        direct_hash = world.sign_and_send(world.second, direct.built(route)["transaction"])
        direct_id = direct.submit(direct_hash, route)["id"]
        eventually(
            lambda: Payment.objects.get(pk=direct_id).status == "completed",
            "a direct payment was verified",
            8,
        )
        working.kill()
        assert Swap.objects.get(pk=payment_id).lease_until is not None
        world.aggregator.set(status="honest")
        # Another worker takes over when the dead worker's lease ends. The test ends it now.
        end_leases()
        working = worker(tmp_path / "worker.log", LIFI_API_URL=world.aggregator.url)
        eventually(lambda: Payment.objects.get(pk=payment_id).status == "completed", "the swap was completed")
    finally:
        working.kill()
        ticking.kill()
    assert ConsumedTransfer.objects.filter(payment=payment_id).count() == 1
    assert Transition.objects.filter(payment=payment_id, to_status="completed").count() == 1
    assert Event.objects.filter(type="payment.succeeded").count() == 2
