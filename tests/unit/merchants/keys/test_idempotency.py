"""`Idempotency-Key`: one effect and one response per key, stored for a day."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.api.errors import FINAL_CONFLICTS, TEMPORARY_CONFLICTS, ApiError, ErrorCode
from merchants.keys.idempotency import purge_expired
from merchants.models import IdempotencyKey, Merchant
from merchants.services import issue_key
from payments.models import PaymentRequest, Transition
from tests.conftest import Api
from tests.support.api.fixtures import CREATE, Raw, error_of, nothing_stored
from tests.support.webhooks.receiver import Receiver, running_receiver
from webhooks.models import Delivery

Order = Callable[..., dict[str, Any]]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


def header(key: str = "order-1001") -> dict[str, str]:
    return {"Idempotency-Key": key}


def assert_replayed(again: Any, first: Any) -> None:
    assert again["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again["Content-Type"] == first["Content-Type"] == "application/json"
    assert again["Cache-Control"] == "no-store"
    assert again["X-Request-Id"] != first["X-Request-Id"]


def test_repeated_call_returns_the_first_response(api: Api, order: Order) -> None:
    first = api.post(CREATE, order(description="Süße Öfen"), **header())
    assert first.status_code == 201
    again = api.post(CREATE, order(description="Süße Öfen"), **header())
    assert_replayed(again, first)
    assert PaymentRequest.objects.count() == 1


def test_without_a_key_each_call_is_one_of_its_own(api: Api, order: Order) -> None:
    assert [api.post(CREATE, order()).status_code for _ in range(2)] == [201, 201]
    assert PaymentRequest.objects.count() == 2
    assert not IdempotencyKey.objects.exists()


def test_stored_response_ignores_later_changes(api: Api, order: Order, usdc: Any) -> None:
    first = api.post(CREATE, order(), **header())
    api.post(f"{CREATE}/{first.json()['id']}/cancel")
    usdc.is_active = False
    usdc.save()
    again = api.post(CREATE, order(), **header())
    assert_replayed(again, first)
    assert again.json()["status"] == "active"


def test_order_and_blanks_of_the_body_do_not_matter(raw: Raw, order: Order) -> None:
    body = order()
    first = raw(json.dumps(body).encode(), **header())
    turned = dict(reversed(list(body.items())))
    assert_replayed(raw(json.dumps(turned, indent=3).encode(), **header()), first)


@pytest.mark.parametrize(
    ("path", "different"), [(CREATE, {"amount": "10.51"}), (CREATE, {"description": "x"}), ("cancel", None)]
)
def test_key_with_another_body_or_path_is_rejected(
    api: Api, order: Order, path: str, different: dict[str, Any] | None
) -> None:
    first = api.post(CREATE, order(), **header()).json()
    if different is None:
        again = api.post(f"{CREATE}/{first['id']}/cancel", **header())
    else:
        again = api.post(path, order(**different), **header())
    assert again.status_code == 400
    error = error_of(again)
    assert (error["type"], error["code"]) == ("idempotency_error", "idempotency_key_reused")
    assert again["Cache-Control"] == "no-store"
    assert PaymentRequest.objects.get().status == "active"


def test_same_key_of_two_merchants_creates_two_requests(
    api: Api, order: Order, other_merchant: Merchant
) -> None:
    stranger = Api(issue_key(merchant=other_merchant, permissions=["create_payments"])[1])
    mine = api.post(CREATE, order(), **header())
    theirs = stranger.post(CREATE, order(), **header())
    assert theirs.status_code == 201
    assert "Idempotent-Replayed" not in theirs
    assert theirs.json()["id"] != mine.json()["id"]


def test_two_keys_of_one_merchant_share_their_idempotency(api: Api, order: Order, merchant: Merchant) -> None:
    second = Api(issue_key(merchant=merchant, permissions=["create_payments"])[1])
    first = api.post(CREATE, order(), **header())
    assert_replayed(second.post(CREATE, order(), **header()), first)


@pytest.mark.parametrize(
    "key", ["", "   ", "k" * 256, "schlüssel", "tab\there", " 1", "\x7f", "nul\x00", "🔑"], ids=repr
)
def test_malformed_idempotency_key_is_rejected(api: Api, order: Order, key: str) -> None:
    response = api.post(CREATE, order(), **header(key))
    assert response.status_code == 400
    error = error_of(response)
    assert (error["type"], error["code"]) == ("idempotency_error", "idempotency_key_invalid")
    assert nothing_stored()
    assert not IdempotencyKey.objects.exists()


@pytest.mark.parametrize("key", ["k" * 255, "4c52a9c7-9a1b-4d1e-8f6c-4d0f7b9b1a33", 'order 1001/"a"', "~"])
def test_a_key_may_be_any_printable_ascii(api: Api, order: Order, key: str) -> None:
    first = api.post(CREATE, order(), **header(key))
    assert first.status_code == 201
    assert_replayed(api.post(CREATE, order(), **header(key)), first)


def test_rejected_call_releases_its_key(api: Api, raw: Raw, order: Order) -> None:
    assert api.post(CREATE, order(amount="0"), **header()).status_code == 400
    assert raw(b"{", **header()).status_code == 400
    assert api.post(f"{CREATE}/no-such-id/cancel", **header()).status_code == 404
    assert not IdempotencyKey.objects.exists()
    response = api.post(CREATE, order(), **header())
    assert response.status_code == 201
    assert "Idempotent-Replayed" not in response


def test_a_failure_of_ours_leaves_the_key_free(
    api: Api, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise RuntimeError("a disk is on fire")

    with monkeypatch.context() as broken:
        broken.setattr("payments.requests.creation.insert_request", break_down)
        assert api.post(CREATE, order(), **header()).status_code == 500
    assert nothing_stored()
    assert not IdempotencyKey.objects.exists()
    assert api.post(CREATE, order(), **header()).status_code == 201


def test_a_key_without_the_permission_claims_nothing(order: Order, merchant: Merchant) -> None:
    weak = Api(issue_key(merchant=merchant, permissions=["manage_webhooks"])[1])
    assert weak.post(CREATE, order(), **header()).status_code == 403
    assert not IdempotencyKey.objects.exists()


def test_a_call_that_was_overtaken_changes_nothing(
    api: Api, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call's lease expired while it waited, for example for a node. Meanwhile, a retry completed."""
    from payments.api import serializers

    overtaken: list[Any] = []
    real = serializers.CreateRequestSerializer.order
    body = order()

    def slow(data: Any, merchant: Any) -> Any:
        if not overtaken and IdempotencyKey.objects.update(lease_until=timezone.now()):
            overtaken.append(None)
            overtaken[0] = api.post(CREATE, body, **header())
        return real(data, merchant)

    monkeypatch.setattr(serializers.CreateRequestSerializer, "order", slow)
    late = api.post(CREATE, body, **header())
    assert overtaken[0].status_code == 201
    assert late.status_code == 409
    assert error_of(late)["code"] == "idempotency_key_in_use"
    assert PaymentRequest.objects.count() == Transition.objects.count() == 1
    assert_replayed(api.post(CREATE, body, **header()), overtaken[0])


def test_after_a_day_the_key_is_as_new(api: Api, order: Order) -> None:
    first = api.post(CREATE, order(), **header())
    row = IdempotencyKey.objects.get()
    assert timedelta(hours=23, minutes=59) < row.expires_at - timezone.now() <= timedelta(hours=24)
    IdempotencyKey.objects.update(expires_at=timezone.now())
    second = api.post(CREATE, order(amount="3"), **header())
    assert second.status_code == 201
    assert second.json()["id"] != first.json()["id"]
    assert_replayed(api.post(CREATE, order(amount="3"), **header()), second)
    assert IdempotencyKey.objects.count() == 1


def test_old_keys_are_purged_in_batches(
    api: Api, order: Order, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merchants.keys.idempotency.PURGE_BATCH", 2)
    monkeypatch.setattr("merchants.keys.idempotency.PURGE_BATCHES", 2)
    api.post(CREATE, order(), **header("young"))
    old = timezone.now() - timedelta(seconds=1)
    for number in range(5):
        IdempotencyKey.objects.create(
            merchant=merchant, key=str(number), fingerprint=b"", status=200, body=b"{}", expires_at=old
        )
    assert [purge_expired() for _ in range(3)] == [4, 1, 0]
    assert IdempotencyKey.objects.get().key == "young"


def test_a_reading_call_takes_no_notice(api: Api, order: Order) -> None:
    id_ = api.post(CREATE, order()).json()["id"]
    for _ in range(2):
        response = api.get(f"{CREATE}/{id_}", **header())
        assert response.status_code == 200
        assert "Idempotent-Replayed" not in response
    assert not IdempotencyKey.objects.exists()


def test_a_test_of_the_webhook_is_sent_once(api: Api, receiver: Receiver) -> None:
    api.put("/api/webhooks", {"url": receiver.url})
    first = api.post("/api/webhooks/test", **header())
    assert first.json()["delivered"] is True
    assert_replayed(api.post("/api/webhooks/test", **header()), first)
    assert len(receiver.received) == 1
    assert Delivery.objects.count() == 1


@pytest.mark.parametrize("code", sorted(FINAL_CONFLICTS | TEMPORARY_CONFLICTS))
def test_conflict_is_stored_only_if_final(
    api: Api, order: Order, code: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = api.post(CREATE, order()).json()["id"]

    def conflict(*_: object, **__: object) -> None:
        raise ApiError(code, "for a test")

    with monkeypatch.context() as refusing:
        refusing.setattr("payments.api.views.cancel_request", conflict)
        first = api.post(f"{CREATE}/{id_}/cancel", **header())
        assert (first.status_code, error_of(first)["code"]) == (409, code)
    again = api.post(f"{CREATE}/{id_}/cancel", **header())
    if code in FINAL_CONFLICTS:
        assert_replayed(again, first)
    else:
        assert (again.status_code, again.has_header("Idempotent-Replayed")) == (200, False)
    expected = "active" if code in FINAL_CONFLICTS else "cancelled"
    assert PaymentRequest.objects.get().status == expected
