"""docs/api.md names every state, permission, event and failure code."""

import pytest

from config.api.errors import ErrorCode
from config.api.schema.errors import MEANINGS
from merchants.models import Permission
from payments.models import FailureCode, Payment, PaymentRequest
from payments.models.payment import RETRYABLE_FAILURES
from tests.support.docs.pages import API
from webhooks.event_types import EventType

PAGE = API.read_text()


def test_generated_reference_explains_each_error_code() -> None:
    assert MEANINGS.keys() == set(ErrorCode)


@pytest.mark.parametrize("code", FailureCode)
def test_page_lists_each_failure_code_and_its_retry(code: FailureCode) -> None:
    answer = "yes" if code in RETRYABLE_FAILURES else "no"
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{code.value}` |")]
    assert answer in {line.split("|")[2].strip() for line in rows}


@pytest.mark.parametrize(
    "value",
    [*PaymentRequest.Status.values, *Payment.Status.values, *Permission.values, *EventType.values],
)
def test_page_names_each_state_permission_and_event(value: str) -> None:
    assert f"`{value}`" in PAGE
