"""The Python client retries calls that are safe to retry, creates no object twice, and reports when it gives up."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from typing import Any

import pytest
import quittance
from quittance import retries

from demo.services.process import free_port
from payments.models import PaymentRequest
from tests.support.clients.python.middleman import (
    Asked,
    Fault,
    Middleman,
    answering,
    cut,
    cut_after_it_was_handled,
    problem,
)
from webhooks.models import Endpoint

Terms = Callable[..., dict[str, Any]]

BUSY = answering(503, problem("service_unavailable", "upstream_error"))
RATE_LIMITED = answering(429, problem("rate_limited", "rate_limit_error"))


def test_a_call_whose_answer_was_lost_makes_one_request(
    through: quittance.Client, middleman: Middleman, terms: Terms
) -> None:
    middleman.faults = [cut_after_it_was_handled, cut_after_it_was_handled]
    made = through.payment_requests.create(**terms())
    assert [str(row.id) for row in PaymentRequest.objects.all()] == [made.id]
    assert len(middleman.asked) == 3
    assert len(set(middleman.idempotency_keys)) == 1
    assert middleman.idempotency_keys[0]


@pytest.mark.parametrize(
    "fault",
    [
        cut,
        BUSY,
        RATE_LIMITED,
        answering(500, problem("internal_error", "api_error")),
        answering(502, b"<h1>Bad gateway</h1>", Content_Type="text/html"),
        answering(409, problem("idempotency_key_in_use", "idempotency_error")),
    ],
    ids=["cut", "503", "429", "500", "a proxy's 502", "key in use"],
)
def test_what_may_pass_is_tried_again_with_the_same_key(
    through: quittance.Client, middleman: Middleman, terms: Terms, fault: Fault
) -> None:
    middleman.faults = [fault, fault]
    made = through.payment_requests.create(**terms())
    assert PaymentRequest.objects.get().pk == made_id(made)
    assert (len(middleman.asked), len(set(middleman.idempotency_keys))) == (3, 1)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "amount_invalid", quittance.InvalidRequestError),
        (401, "api_key_revoked", quittance.AuthenticationError),
        (403, "permission_denied", quittance.PermissionDeniedError),
        (404, "resource_missing", quittance.InvalidRequestError),
        (409, "payment_in_progress", quittance.InvalidRequestError),
        (400, "idempotency_key_reused", quittance.IdempotencyError),
    ],
)
def test_a_refusal_is_final(
    through: quittance.Client,
    middleman: Middleman,
    terms: Terms,
    status: int,
    code: str,
    kind: type[quittance.QuittanceError],
) -> None:
    types = {401: "authentication_error", 403: "permission_error"}
    type_ = "idempotency_error" if "idempotency" in code else types.get(status, "invalid_request_error")
    middleman.faults = [answering(status, problem(code, type_))]
    with pytest.raises(kind) as refused:
        through.payment_requests.create(**terms())
    assert (refused.value.code, refused.value.status, refused.value.request_id) == (code, status, "req_1")
    assert len(middleman.asked) == 1
    assert not PaymentRequest.objects.exists()


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (cut, quittance.APIConnectionError),
        (RATE_LIMITED, quittance.RateLimitError),
        (BUSY, quittance.UpstreamError),
        (answering(500, problem("internal_error", "api_error")), quittance.APIError),
        (answering(500, b"oops"), quittance.APIError),
    ],
)
def test_after_three_retries_the_last_failure_is_the_callers(
    through: quittance.Client,
    middleman: Middleman,
    terms: Terms,
    fault: Fault,
    kind: type[quittance.QuittanceError],
) -> None:
    middleman.faults = [fault] * 9
    with pytest.raises(kind):
        through.payment_requests.create(**terms())
    assert len(middleman.asked) == 4
    assert not PaymentRequest.objects.exists()


def test_the_service_is_not_called_before_its_retry_after(
    through: quittance.Client, middleman: Middleman
) -> None:
    middleman.faults = [answering(429, problem("rate_limited", "rate_limit_error"), Retry_After="1")]
    started = time.monotonic()
    through.chains.list()
    assert 1 <= time.monotonic() - started < 5


def test_nobody_waits_an_hour(through: quittance.Client, middleman: Middleman) -> None:
    middleman.faults = [answering(429, problem("rate_limited", "rate_limit_error"), Retry_After="3600")]
    with pytest.raises(quittance.RateLimitError) as refused:
        through.payment_requests.list()
    assert (refused.value.retry_after, len(middleman.asked)) == (3600, 1)


def test_each_call_has_a_key_of_its_own_or_the_callers(
    through: quittance.Client, middleman: Middleman, terms: Terms
) -> None:
    one, other = (through.payment_requests.create(**terms()) for _ in range(2))
    mine = [through.payment_requests.create(**terms(), idempotency_key="order-1001") for _ in range(2)]
    assert mine[0] == mine[1]
    assert len({one.id, other.id, mine[0].id}) == 3 == PaymentRequest.objects.count()
    assert middleman.idempotency_keys[2:] == ["order-1001", "order-1001"]
    assert middleman.idempotency_keys[0] != middleman.idempotency_keys[1]
    with pytest.raises(quittance.IdempotencyError) as refused:
        through.payment_requests.create(**terms(amount="99"), idempotency_key="order-1001")
    assert refused.value.code == "idempotency_key_reused"
    assert PaymentRequest.objects.count() == 3


@pytest.mark.parametrize("unusable", ["", " ", "a\nb", "x" * 256, "ü"])
def test_a_key_that_would_not_protect_is_refused(
    client: quittance.Client, terms: Terms, unusable: str
) -> None:
    with pytest.raises(ValueError, match="visible ASCII"):
        client.payment_requests.create(**terms(), idempotency_key=unusable)
    assert not PaymentRequest.objects.exists()


def test_many_threads_share_a_client_and_a_key(client: quittance.Client, terms: Terms) -> None:
    with ThreadPoolExecutor(8) as threads:
        same = [
            threads.submit(client.payment_requests.create, **terms(), idempotency_key="one")
            for _ in range(16)
        ]
        others = [threads.submit(client.payment_requests.create, **terms()) for _ in range(16)]
        assert len({each.result().id for each in same}) == 1
        assert len({each.result().id for each in others}) == 16
    assert PaymentRequest.objects.count() == 17


def test_secret_rotation_is_not_retried_after_lost_response(
    through: quittance.Client, middleman: Middleman
) -> None:
    first = through.webhooks.update(url="https://shop.example.com/hook").secret
    middleman.faults = [cut_after_it_was_handled]
    with pytest.raises(quittance.APIConnectionError):
        through.webhooks.update(url="https://shop.example.com/hook", rotate_secret=True)
    assert len(middleman.asked) == 2
    assert through.webhooks.retrieve().secret != first
    assert Endpoint.objects.get().previous_secret_encrypted  # the first secret: there was one rotation


def test_secret_rotation_is_retried_after_rate_limit(through: quittance.Client, middleman: Middleman) -> None:
    first = through.webhooks.update(url="https://shop.example.com/hook").secret
    middleman.faults = [RATE_LIMITED]
    assert through.webhooks.update(url="https://shop.example.com/hook", rotate_secret=True).secret != first
    assert len(middleman.asked) == 3


def test_a_silent_service_is_given_up(middleman: Middleman, key: str, quick_retries: None) -> None:
    def silent(middleman: Middleman, asked: Asked, handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(1)  # until the client disconnects

    middleman.faults = [silent] * 2
    client = quittance.Client(key, base_url=middleman.url, timeout=0.2, max_retries=1)
    with pytest.raises(quittance.APIConnectionError, match=r"timed out after 0\.2 s") as failed:
        client.chains.list()
    assert (len(middleman.asked), failed.value.never_sent) == (2, False)


def test_where_nobody_listens_the_address_is_named(quick_retries: None) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    client = quittance.Client("quitt_" + "0" * 40, base_url=address, max_retries=1)
    with pytest.raises(quittance.APIConnectionError, match="refused") as failed:
        client.payment_requests.list()
    assert address in str(failed.value)
    assert failed.value.never_sent


def test_a_redirect_is_not_followed(through: quittance.Client, middleman: Middleman, service: str) -> None:
    middleman.faults = [answering(301, b"", Location=f"{service}/api/payment-requests")]
    with pytest.raises(quittance.APIError, match="base_url"):
        through.payment_requests.list()
    assert len(middleman.asked) == 1


@pytest.mark.parametrize("body", [b"<h1>Welcome</h1>", b"", b'{"data": 1}', b"[]", b"null"])
def test_an_answer_that_is_no_quittances_is_an_error(
    through: quittance.Client, middleman: Middleman, body: bytes
) -> None:
    middleman.faults = [answering(200, body)]
    with pytest.raises(quittance.APIError, match="Check base_url"):
        through.payment_requests.list()


def test_pauses_double_up_to_a_limit_and_differ() -> None:
    pauses = [[retries.delay(attempt) for _ in range(100)] for attempt in range(1, 7)]
    for attempt, each in enumerate(pauses):
        full = min(8.0, 0.5 * 2**attempt)
        assert full / 2 <= min(each) < max(each) <= full
    assert all(max(before) < max(after) * 1.1 for before, after in pairwise(pauses))
    assert retries.delay(1, retry_after=7.5) == 7.5


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("3", 3.0), (" 0 ", 0.0), ("soon", None), ("-1", None), ("1.5", None), (None, None), ("9" * 40, None)],
)
def test_retry_after_is_a_number_of_seconds(header: str | None, seconds: float | None) -> None:
    assert retries.parse_retry_after(header, now=1e9) == seconds


def test_retry_after_may_be_a_date() -> None:
    assert retries.parse_retry_after(formatdate(1_000_000_030, usegmt=True), now=1e9) == 30
    assert retries.parse_retry_after(formatdate(999_999_000, usegmt=True), now=1e9) == 0


def made_id(made: quittance.PaymentRequest) -> Any:
    return PaymentRequest._meta.pk.to_python(made.id)
