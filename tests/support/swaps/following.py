"""Pay by a swap, and run the engine by hand on its chains and its provider until it is decided."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from chains.families import get_client
from chains.models import Token
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.providers.registry import get_provider
from tests.support.payments.world import Clock
from tests.support.swaps.paying import Customer
from tests.support.swaps.world import SwapWorld
from tests.verifying import follow_swaps, verify_due
from webhooks.models import Event


def pay_by_swap(world: SwapWorld, customer: Customer, token: Token) -> tuple[str, str]:
    """Pay with this token as the page does, with approvals; return the payment's id and its transaction's hash."""
    route = customer.routes(token)[0]
    for unsigned in customer.approval(route)["transactions"]:
        world.sign_and_send(_chain(world, token), unsigned)
    built = customer.built(route)["transaction"]
    if token.chain == world.solana_row:
        assert world.solana is not None
        sent = world.solana.finalize(world.solana.sign_and_send(built))
    else:
        sent = world.sign_and_send(_chain(world, token), built)
    return customer.submit(sent, route)["id"], sent


def _chain(world: SwapWorld, token: Token) -> Any:
    return world.first if token.chain == world.first_row else world.second


def look_and_follow(
    clock: Callable[[], datetime], *, client: Any = get_client, provider: Any = get_provider
) -> None:
    """Query the chains, then the providers, about everything that is due."""
    verify_due(client=client, now=clock)
    follow_swaps(provider=provider, now=clock)


def step(payment: Payment, clock: Clock, **asked: Any) -> Payment:
    """Advance the clock to the payment's next lookup, and run it."""
    payment.refresh_from_db()
    if payment.due_at:
        clock.forward(seconds=max((payment.due_at - clock()).total_seconds(), 0) + 0.01)
    look_and_follow(clock, **asked)
    payment.refresh_from_db()
    return payment


def follow_until_decided(payment_id: str, clock: Clock, *, looks: int = 60, **asked: Any) -> Payment:
    """Run lookups until the payment is completed or failed."""
    payment = Payment.objects.get(pk=payment_id)
    for _ in range(looks):
        if not step(payment, clock, **asked).is_open:
            return payment
    raise AssertionError(f"{payment_id} is still {payment.status}: {payment.status_detail}")


def assert_nothing_counted(payment: Payment, code: str) -> None:
    """Check that the payment failed for this reason.

    Nothing is credited or consumed, and the only event is the failure.
    """
    payment.refresh_from_db()
    assert (payment.status, payment.failure_code) == ("failed", code), payment.status_detail
    assert payment.amount_received is None
    assert PaymentRequest.objects.get(pk=payment.request_id).amount_paid == 0
    assert not ConsumedTransfer.objects.filter(payment=payment).exists()
    told = Event.objects.filter(merchant=payment.request.merchant_id).values_list("type", flat=True)
    assert set(told) == {"payment.failed"}
