"""GET and PUT /api/webhooks."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from merchants.models import Merchant
from merchants.services import issue_key
from tests.conftest import Api
from webhooks.models import Endpoint

FIELDS = {
    "object",
    "url",
    "secret",
    "is_enabled",
    "enabled_events",
    "created_at",
    "updated_at",
    "previous_secret_expires_at",
    "disabled_reason",
}
DEFAULT_TYPES = ["payment.succeeded", "payment.failed", "payment.expired"]
URL = "https://shop.example/hook"


def state(merchant: Merchant) -> dict[str, Any] | None:
    return Endpoint.objects.filter(merchant=merchant).values().first()


def test_before_any_configuration_all_is_null(api: Api) -> None:
    response = api.get("/api/webhooks")
    assert response.status_code == 200
    assert response.json() == {**dict.fromkeys(FIELDS), "object": "webhook_configuration"}
    assert response["Cache-Control"] == "no-store"


def test_the_first_url_makes_a_secret(api: Api) -> None:
    response = api.put("/api/webhooks", {"url": URL})
    assert response.status_code == 200
    assert response["Cache-Control"] == "no-store"
    body = response.json()
    assert set(body) == FIELDS
    assert (body["url"], body["is_enabled"], body["enabled_events"]) == (URL, True, DEFAULT_TYPES)
    assert re.fullmatch(r"whsec_[0-9A-Za-z]{32}", body["secret"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", body["created_at"])
    assert body["previous_secret_expires_at"] is None
    assert api.get("/api/webhooks").json() == body


def test_the_secret_stays_and_what_is_left_out_keeps_its_value(api: Api) -> None:
    first = api.put(
        "/api/webhooks", {"url": URL, "is_enabled": False, "enabled_events": ["payment.overpaid"]}
    ).json()
    second = api.put("/api/webhooks", {"url": URL + "/2"}).json()
    assert second == {**first, "url": URL + "/2", "updated_at": second["updated_at"]}
    assert second["updated_at"] > first["updated_at"]


def test_null_is_as_good_as_left_out_but_for_the_event_types(api: Api) -> None:
    first = api.put(
        "/api/webhooks", {"url": URL, "is_enabled": False, "enabled_events": ["payment.overpaid"]}
    ).json()
    nothing = {"is_enabled": None, "rotate_secret": None}
    second = api.put("/api/webhooks", {"url": URL, **nothing}).json()
    assert second == {**first, "updated_at": second["updated_at"]}
    assert api.put("/api/webhooks", {"url": URL, "enabled_events": None}).json()["enabled_events"] == (
        DEFAULT_TYPES
    )


def test_all_errors_of_a_configuration_are_reported_together(api: Api, merchant: Merchant) -> None:
    response = api.put("/api/webhooks", {"url": "nowhere", "is_enabled": 1, "enabled_events": {}, "x": 1})
    details = response.json()["error"]["details"]
    assert [(detail["param"], detail["code"]) for detail in details] == [
        ("url", "url_invalid"),
        ("is_enabled", "parameter_invalid"),
        ("enabled_events", "parameter_invalid"),
        ("x", "parameter_unknown"),
    ]
    assert state(merchant) is None


def test_null_removes_the_endpoint_and_the_secret_survives(api: Api) -> None:
    secret = api.put("/api/webhooks", {"url": URL}).json()["secret"]
    removed = api.put("/api/webhooks", {"url": None}).json()
    assert (removed["url"], removed["secret"]) == (None, secret)
    assert api.put("/api/webhooks", {"url": URL}).json()["secret"] == secret


def test_removing_what_never_was_makes_nothing(api: Api, merchant: Merchant) -> None:
    response = api.put("/api/webhooks", {"url": None})
    assert response.json() == {**dict.fromkeys(FIELDS), "object": "webhook_configuration"}
    assert state(merchant) is None


@pytest.mark.parametrize("url", [{}, {"url": None}], ids=["left out", "null"])
def test_event_types_without_url_create_a_secret(api: Api, url: dict[str, None]) -> None:
    body = api.put("/api/webhooks", {**url, "enabled_events": ["payment.overpaid"]}).json()
    assert (body["url"], body["enabled_events"], body["is_enabled"]) == (None, ["payment.overpaid"], True)
    assert re.fullmatch(r"whsec_[0-9A-Za-z]{32}", body["secret"])
    assert api.get("/api/webhooks").json() == body

    again = api.put("/api/webhooks", {"enabled_events": None}).json()
    assert (again["secret"], again["enabled_events"]) == (body["secret"], DEFAULT_TYPES)
    assert api.put("/api/webhooks", {"url": URL}).json()["secret"] == body["secret"]


def test_default_types_without_url_create_nothing(api: Api, merchant: Merchant) -> None:
    response = api.put("/api/webhooks", {"enabled_events": None})
    assert response.json() == {**dict.fromkeys(FIELDS), "object": "webhook_configuration"}
    assert state(merchant) is None


def test_removing_the_endpoint_keeps_its_event_types(api: Api) -> None:
    api.put("/api/webhooks", {"url": URL, "enabled_events": ["payment.overpaid"]})
    assert api.put("/api/webhooks", {"url": None}).json()["enabled_events"] == ["payment.overpaid"]
    changed = api.put("/api/webhooks", {"enabled_events": ["payment.reorged"]}).json()
    assert (changed["url"], changed["enabled_events"]) == (None, ["payment.reorged"])


def test_missing_url_is_named_among_other_errors(api: Api, merchant: Merchant) -> None:
    details = api.put("/api/webhooks", {"is_enabled": 1}).json()["error"]["details"]
    assert [(detail["param"], detail["code"]) for detail in details] == [
        ("url", "parameter_missing"),
        ("is_enabled", "parameter_invalid"),
    ]
    assert state(merchant) is None


def test_rotation_returns_new_secret_and_end_of_the_old(api: Api) -> None:
    first = api.put("/api/webhooks", {"url": URL, "rotate_secret": True}).json()
    assert first["previous_secret_expires_at"] is None
    second = api.put("/api/webhooks", {"url": URL, "rotate_secret": True}).json()
    assert second["secret"] != first["secret"]
    assert second["previous_secret_expires_at"] is not None
    third = api.put("/api/webhooks", {"url": URL, "rotate_secret": False}).json()
    assert third["secret"] == second["secret"]

    Endpoint.objects.update(previous_secret_expires_at=timezone.now() - timedelta(seconds=1))
    assert api.get("/api/webhooks").json()["previous_secret_expires_at"] is None


def test_event_types_are_kept_once_each(api: Api) -> None:
    asked = ["payment.reorged", "payment.failed", "payment.reorged"]
    body = api.put("/api/webhooks", {"url": URL, "enabled_events": asked}).json()
    assert body["enabled_events"] == ["payment.failed", "payment.reorged"]


def test_enabling_again_clears_why_it_was_disabled(api: Api, merchant: Merchant) -> None:
    api.put("/api/webhooks", {"url": URL})
    Endpoint.objects.update(
        is_enabled=False, disabled_reason="Five days of failures.", failing_since=timezone.now()
    )
    assert api.put("/api/webhooks", {"url": URL}).json()["disabled_reason"] == "Five days of failures."
    body = api.put("/api/webhooks", {"url": URL, "is_enabled": True}).json()
    assert (body["is_enabled"], body["disabled_reason"]) == (True, None)
    assert Endpoint.objects.get(merchant=merchant).failing_since is None


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"enabled_events": ["payment.overpaid"]}, "parameter_missing", "url"),
        ({"enabled_events": None}, "parameter_missing", "url"),
    ],
)
def test_rejected_change_changes_nothing(
    api: Api, merchant: Merchant, body: dict[str, Any], code: str, param: str
) -> None:
    api.put("/api/webhooks", {"url": URL})
    before = state(merchant)
    response = api.put("/api/webhooks", body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["code"], error["param"]) == (code, param)
    assert state(merchant) == before


def test_merchants_do_not_see_each_other(api: Api, other_merchant: Merchant) -> None:
    mine = api.put("/api/webhooks", {"url": URL}).json()
    _, key = issue_key(merchant=other_merchant, permissions=["manage_webhooks"])
    assert Api(key).get("/api/webhooks").json()["url"] is None
    Api(key).put("/api/webhooks", {"url": "https://other.example/"})
    assert api.get("/api/webhooks").json() == mine
