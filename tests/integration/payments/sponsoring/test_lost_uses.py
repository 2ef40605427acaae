"""Signatures whose use no node returns, or whose end can't be stored."""

from typing import Any

import pytest

from chains.client import ChainError
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


@pytest.fixture
def used(world: SponsoringWorld) -> list[Payment]:
    """The payments of two signatures that a stranger has used."""
    signed = []
    for _ in range(2):
        request = world.request()
        route, signature = world.signed(request)
        signed.append(Payment.objects.get(pk=world.submit(request, route, signature)["id"]))
        world.broadcast(route, signature)
    return signed


def test_search_that_fails_holds_up_no_other_search(
    world: SponsoringWorld,
    used: list[Payment],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, payment = used
    find_uses = settling.find_uses

    def one_by_one(authorizations: list[Authorization], **_: Any) -> list[list[Authorization]]:
        return [[each] for each in authorizations]

    def fail(client: Any, group: list[Authorization], **options: Any) -> dict[int, tuple[str, bool]]:
        if group[0].payment_id == broken.pk:
            raise ChainError("too many results")
        return find_uses(client, group, **options)

    with monkeypatch.context() as patched:
        patched.setattr(settling, "in_searches", one_by_one)
        patched.setattr(settling, "find_uses", fail)
        world.clock.forward(seconds=3)
        assert world.work_until_decided(payment, passes=5).status == "completed"
    assert f"uses on {world.row.name} could not be searched for: too many results" in caplog.messages
    broken.refresh_from_db()
    assert broken.is_open
    assert world.work_until_decided(broken, passes=5).status == "completed"


def test_end_that_can_not_be_stored_holds_up_no_others(
    world: SponsoringWorld,
    used: list[Payment],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken, payment = used
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
