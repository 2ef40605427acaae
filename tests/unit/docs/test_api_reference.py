"""The API reference names what there is: every path, field, code, state and event."""

from collections.abc import Iterator

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from msgspec.structs import fields
from rest_framework.serializers import BaseSerializer

from checkout.api.serializers import BuildTransactionSerializer, RoutesSerializer, SubmitPaymentSerializer
from config.api.answers import Answer
from config.api.errors import ErrorCode, status_of, type_of
from merchants.models import Permission
from payments.api.objects import PaymentObject, PaymentRequestDetail
from payments.api.serializers import CreateRequestSerializer
from payments.models import FailureCode, Payment, PaymentRequest
from payments.models.payment import RETRYABLE_FAILURES
from tests.support.docs.pages import API, rows_by_code
from webhooks.api import serializers as webhooks
from webhooks.api.objects import WebhookConfiguration
from webhooks.event_types import EventType

PAGE = API.read_text()
ROWS = rows_by_code(API)


@pytest.mark.parametrize("code", ErrorCode)
def test_each_error_code_stands_there_with_its_status_and_type(code: ErrorCode) -> None:
    assert ROWS[code.value][1:3] == [str(status_of(code)), f"`{type_of(code).value}`"]


@pytest.mark.parametrize("code", FailureCode)
def test_each_failure_code_stands_there_and_whether_a_retry_can_help(code: FailureCode) -> None:
    # `transaction_already_used` is an error's code as well: its rows are told apart by the second cell.
    answer = "yes" if code in RETRYABLE_FAILURES else "no"
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{code.value}` |")]
    assert answer in {line.split("|")[2].strip() for line in rows}


def _paths(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _paths(pattern.url_patterns, prefix + str(pattern.pattern))
        else:
            yield prefix + str(pattern.pattern)


def _documented_form(path: str) -> str:
    for converter in ("str:", "int:", "uuid:"):
        path = path.replace(f"<{converter}", "{")
    return "/" + path.replace(">", "}")


API_PATHS = sorted(
    {_documented_form(path) for path in _paths(get_resolver().url_patterns) if not path.startswith("admin/")}
    - {_documented_form("^api(?:/.*)?$")}
)


@pytest.mark.parametrize("path", API_PATHS)
def test_each_path_stands_there(path: str) -> None:
    assert f"{path}`" in PAGE, path


@pytest.mark.parametrize(
    "serializer",
    [
        CreateRequestSerializer,
        RoutesSerializer,
        BuildTransactionSerializer,
        SubmitPaymentSerializer,
        webhooks.EndpointChangeSerializer,
        webhooks.TestSerializer,
    ],
)
def test_each_field_of_a_body_stands_there(serializer: type[BaseSerializer]) -> None:
    missing = [name for name in serializer().fields if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE]
    assert missing == []


@pytest.mark.parametrize("struct", [PaymentRequestDetail, PaymentObject, WebhookConfiguration])
def test_each_field_of_a_response_stands_there(struct: type[Answer]) -> None:
    names = [field.encode_name for field in fields(struct)]
    assert [name for name in names if f"`{name}`" not in PAGE and f'"{name}"' not in PAGE] == []


@pytest.mark.parametrize(
    "value",
    [*PaymentRequest.Status.values, *Payment.Status.values, *Permission.values, *EventType.values],
)
def test_each_state_permission_and_event_stands_there(value: str) -> None:
    assert f"`{value}`" in PAGE
