"""The list of API changes is in chronological order. Its calls, fields and codes exist."""

import json
import re
from datetime import date

from tests.support.docs.pages import API
from tests.unit.config.api.schema.test_openapi import COMPONENTS, OPERATIONS

PAGE = (API.parent / "api-changes.md").read_text()
CALLS = {f"{method.upper()} {path}" for path, method, _ in OPERATIONS.values()}
NAMED = re.findall(r"`([^`]+)`", PAGE)


def test_changes_are_listed_from_the_newest_day_on() -> None:
    days = [date.fromisoformat(day) for day in re.findall(r"^## (.+)$", PAGE, re.MULTILINE)]
    assert days == sorted(set(days), reverse=True)


def test_each_named_call_exists() -> None:
    named = {text for text in NAMED if re.match(r"(GET|POST|PUT|PATCH|DELETE) ", text)}
    assert len(named) > 10
    assert named <= CALLS


def test_each_named_field_or_code_exists() -> None:
    described = json.dumps(COMPONENTS) + API.read_text()
    fields = {text.partition(":")[0].rpartition(".")[2] for text in NAMED if "/" not in text}
    assert [field for field in sorted(fields) if not re.search(rf"\b{re.escape(field)}\b", described)] == []


def test_every_call_of_payment_links_and_refunds_is_listed() -> None:
    new = {call for call in CALLS if "/payment-links" in call or "/refunds" in call}
    assert {call for call in new if call not in NAMED} == set()
