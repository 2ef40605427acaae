"""Signatures whose use no node returns, or whose end can't be stored."""

from typing import Any

import pytest

from payments.models import Authorization, Payment
from payments.sponsoring import settling
from tests.conftest import Api
from tests.support.payments.sponsoring import SponsoringWorld
from tests.verifying import settle_due


@pytest.fixture
def lost(world: SponsoringWorld) -> Payment:
    """The payment of a signature that a stranger has used."""
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    world.broadcast(route, signature)
    return payment


@pytest.fixture
def searches(lost: Payment, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let no node return the transactions that used authorizations; return an entry for each search."""
    searched: list[int] = []

    def find_nothing(_: Any, authorizations: list[Authorization], **__: Any) -> dict[int, tuple[str, bool]]:
        searched.extend(each.pk for each in authorizations)
        return {}

    monkeypatch.setattr(settling, "find_uses", find_nothing)
    return searched


def test_use_that_no_node_returns_is_searched_for_more_rarely(
    world: SponsoringWorld, searches: list[int]
) -> None:
    seconds_and_searches = ((3, 1), (3, 2), (600, 3), (20, 3), (20, 4), (7200, 5), (200, 5), (110, 6))
    for seconds, expected in seconds_and_searches:
        world.clock.forward(seconds=seconds)
        settle_due(now=world.clock)
        assert len(searches) == expected


def test_use_that_no_node_returns_times_out_after_a_day(
    world: SponsoringWorld, lost: Payment, searches: list[int]
) -> None:
    world.clock.forward(hours=23)
    settle_due(now=world.clock)
    lost.refresh_from_db()
    assert (lost.status, len(searches)) == ("pending", 1)
    for _ in range(3):
        world.clock.forward(hours=1)
        settle_due(now=world.clock)
    lost.refresh_from_db()
    assert (lost.status, lost.failure_code, lost.is_retryable) == ("failed", "verification_timed_out", True)
    authorization = Authorization.objects.get()
    assert (authorization.next_check_at, authorization.cost, len(searches)) == (None, 0, 2)


def test_retry_searches_for_a_lost_use_again(
    world: SponsoringWorld, lost: Payment, searches: list[int], api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.clock.forward(hours=25)
    settle_due(now=world.clock)
    monkeypatch.undo()
    answer = api.post(f"/api/payment-requests/{lost.request_id}/payments/{lost.pk}/retry")
    assert (answer.status_code, answer.json()["status"]) == (200, "pending")
    assert world.work_until_decided(lost, passes=5).status == "completed"
    assert searches


def test_submitted_hash_completes_a_payment_that_timed_out(
    world: SponsoringWorld, searches: list[int]
) -> None:
    request = world.request()
    route, signature = world.signed(request)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    used = world.broadcast(route, signature)
    world.clock.forward(hours=25)
    settle_due(now=world.clock)
    payment.refresh_from_db()
    assert payment.failure_code == "verification_timed_out"
    body = {"transaction_hash": used, "chain_id": world.row.pk}
    assert world.post(f"payment-requests/{request.pk}/payments", body, 200)["id"] == payment.pk
    assert world.work_until_decided(payment, passes=5).status == "completed"
    assert searches


def test_end_that_can_not_be_stored_holds_up_no_others(
    world: SponsoringWorld, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    signed = []
    for _ in range(2):
        request = world.request()
        route, signature = world.signed(request)
        signed.append(Payment.objects.get(pk=world.submit(request, route, signature)["id"]))
        world.broadcast(route, signature)
    broken, payment = signed
    attach = settling.attach

    def fail(authorization: Authorization, *arguments: Any, **options: Any) -> tuple[Payment, bool]:
        if authorization.payment_id == broken.pk:
            raise ValueError("unexpected")
        return attach(authorization, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(settling, "attach", fail)
        world.clock.forward(seconds=3)
        assert world.work_until_decided(payment, passes=5).status == "completed"
    assert "the end of a signed transfer could not be stored" in caplog.messages
    broken.refresh_from_db()
    assert broken.is_open
    assert world.work_until_decided(broken, passes=5).status == "completed"
