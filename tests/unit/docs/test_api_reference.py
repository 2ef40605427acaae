"""The API reference names what there is: every path, field, code, state and event."""

import pytest
from msgspec.structs import fields

from config.api.answers import Answer
from config.api.errors import ErrorCode, status_of, type_of
from merchants.models import Permission
from payments.api.objects import PaymentObject, PaymentRequestDetail
from payments.models import FailureCode, Payment, PaymentRequest
from payments.models.payment import RETRYABLE_FAILURES
from tests.support.docs.pages import API, rows_by_code
from webhooks.api.objects import WebhookConfiguration
from webhooks.event_types import EventType

PAGE = API.read_text()
ROWS = rows_by_code(API)


@pytest.mark.parametrize("code", ErrorCode)
def test_reference_lists_each_error_code_status_and_type(code: ErrorCode) -> None:
    assert ROWS[code.value][1:3] == [str(status_of(code)), f"`{type_of(code).value}`"]


@pytest.mark.parametrize("code", FailureCode)
def test_reference_lists_each_failure_code_and_its_retry(code: FailureCode) -> None:
    # `transaction_already_used` is an error's code as well: the second cell distinguishes its rows.
    answer = "yes" if code in RETRYABLE_FAILURES else "no"
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{code.value}` |")]
    assert answer in {line.split("|")[2].strip() for line in rows}


@pytest.mark.parametrize("struct", [PaymentRequestDetail, PaymentObject, WebhookConfiguration])
def test_reference_lists_each_response_field(struct: type[Answer]) -> None:
    names = [field.encode_name for field in fields(struct)]
    assert [name for name in names if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE] == []


@pytest.mark.parametrize(
    "value",
    [*PaymentRequest.Status.values, *Payment.Status.values, *Permission.values, *EventType.values],
)
def test_reference_lists_each_state_permission_and_event(value: str) -> None:
    assert f"`{value}`" in PAGE
