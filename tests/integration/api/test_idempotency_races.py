"""Two hundred equal calls at the same moment have the effect of one."""

import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from merchants.models import IdempotencyKey
from payments.models import PaymentRequest, Transition
from tests.conftest import Api
from tests.support.api.fixtures import CREATE
from tests.threads import at_once

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 200


def test_two_hundred_equal_creates_make_one_request(
    api_key: tuple[Any, str], order: Callable[..., dict[str, Any]]
) -> None:
    body = order()
    header = {"Idempotency-Key": "order-1001"}
    answers = at_once([lambda: Api(api_key[1]).post(CREATE, body, **header)] * THREADS)
    assert PaymentRequest.objects.count() == Transition.objects.count() == IdempotencyKey.objects.count() == 1
    seen = Counter((answer.status_code, "Idempotent-Replayed" in answer) for answer in answers)
    assert seen[(201, False)] == 1
    assert set(seen) <= {(201, False), (201, True), (409, False)}
    assert len({answer.content for answer in answers if answer.status_code == 201}) == 1
    running = {answer.json()["error"]["code"] for answer in answers if answer.status_code == 409}
    assert running <= {"idempotency_key_in_use"}


def test_key_of_a_dead_call_is_taken_over_once(
    api_key: tuple[Any, str], order: Callable[..., dict[str, Any]]
) -> None:
    body = order()
    header = {"Idempotency-Key": "order-1001"}
    api = Api(api_key[1])
    api.post(CREATE, body, **header)
    Transition.objects.all().delete()
    PaymentRequest.objects.all().delete()
    dead = {"claim_id": uuid.uuid4(), "lease_until": timezone.now()}
    IdempotencyKey.objects.update(status=None, body=None, **dead)
    answers = at_once([lambda: Api(api_key[1]).post(CREATE, body, **header)] * 50)
    assert PaymentRequest.objects.count() == 1
    assert sum(a.status_code == 201 and "Idempotent-Replayed" not in a for a in answers) == 1


def test_fifty_equal_cancels_write_one_transition(
    api_key: tuple[Any, str], order: Callable[..., dict[str, Any]]
) -> None:
    id_ = Api(api_key[1]).post(CREATE, order()).json()["id"]
    header = {"Idempotency-Key": "cancel-1001"}
    answers = at_once([lambda: Api(api_key[1]).post(f"{CREATE}/{id_}/cancel", **header)] * 50)
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert Transition.objects.filter(to_status="cancelled").count() == 1
