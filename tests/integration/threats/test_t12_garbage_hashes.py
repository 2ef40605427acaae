"""Invented hashes cause no more lookups than the limit on open payments allows."""

import secrets
from collections.abc import Callable, Collection, Sequence
from typing import Any

from chains.client import Snapshot
from chains.families import get_client
from chains.models import Chain
from config.api.errors import ApiError
from payments.models import Payment, PaymentRequest
from payments.submission.caps import MAX_OPEN_PAYMENTS
from tests.support.payments.world import Clock, look, submit

HASHES = 30


class Counting:
    """The chain's client, which counts the transactions that it looks up."""

    def __init__(self, chain: Chain) -> None:
        self.asked = 0
        self._client = get_client(chain)

    def look_up(
        self, hashes: Sequence[str], *, with_finality: bool, mentioning: Collection[str] = ()
    ) -> Snapshot:
        self.asked += len(hashes)
        return self._client.look_up(hashes, with_finality=with_finality, mentioning=mentioning)


def test_random_hashes_cost_a_bounded_number_of_lookups(
    request_for: Callable[..., PaymentRequest], chain: Chain
) -> None:
    request, clock, client = request_for(), Clock(), Counting(chain)
    codes = []

    def counting(_: Chain) -> Any:
        return client

    for _ in range(HASHES):
        try:
            submit(request, "0x" + secrets.token_hex(32))
        except ApiError as error:
            codes.append(error.problems[0].code)
    assert Payment.objects.count() == MAX_OPEN_PAYMENTS
    assert codes == ["too_many_open_payments"] * (HASHES - MAX_OPEN_PAYMENTS)
    for _ in range(40):
        look(clock, client=counting)
        clock.forward(minutes=50)
    assert set(Payment.objects.values_list("failure_code", flat=True)) == {"transaction_not_found"}
    assert client.asked == MAX_OPEN_PAYMENTS * 11, "one look and ten retries each"
