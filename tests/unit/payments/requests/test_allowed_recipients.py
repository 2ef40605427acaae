"""A merchant's list of allowed recipients limits the wallets of its payment requests, whichever key is used."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from chains.models import Token
from config.api.errors import ApiError
from merchants.models import AllowedRecipient, Merchant
from merchants.recipients import allow_recipients, disallow_recipients, recipient_problem
from merchants.services import issue_key
from payments.models import PaymentRequest
from payments.requests.creation import NewRequest, create_request
from tests.chain import LocalChain
from tests.conftest import Api

PATH = "/api/payment-requests"
OTHER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
SOLANA_WALLET = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"

Order = Callable[..., dict[str, Any]]


@pytest.fixture
def recipient(local_chain: LocalChain) -> str:
    return local_chain.recipient


def allow(merchant: Merchant, *addresses: str) -> None:
    family = {True: "evm", False: "solana"}
    allow_recipients(merchant, [(family[text.startswith("0x")], text) for text in addresses], request=None)


def assert_refused(response: Any, address: str) -> None:
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (
        400,
        "recipient_not_allowed",
        "recipient_address",
    )
    assert address in error["message"]
    assert not PaymentRequest.objects.exists()


def test_with_a_list_a_key_can_not_send_the_money_anywhere_else(
    api: Api, order: Order, merchant: Merchant, recipient: str
) -> None:
    allow(merchant, recipient)
    refused = api.post(PATH, order(recipient_address=OTHER))
    assert_refused(refused, OTHER)
    assert recipient not in refused.content.decode()
    assert api.post(PATH, order()).status_code == 201


def test_an_evm_recipient_is_the_same_in_any_case(
    api: Api, order: Order, merchant: Merchant, recipient: str
) -> None:
    allow(merchant, recipient)
    created = api.post(PATH, order(recipient_address=recipient.lower()))
    assert (created.status_code, created.json()["recipient_address"]) == (201, recipient)


def test_a_solana_address_is_another_in_another_case(merchant: Merchant) -> None:
    allow(merchant, SOLANA_WALLET)
    assert recipient_problem(merchant, "solana", SOLANA_WALLET) is None
    for written in (SOLANA_WALLET.lower(), SOLANA_WALLET.swapcase()):
        assert recipient_problem(merchant, "solana", written) is not None


def test_a_list_for_one_chain_family_closes_the_other(
    api: Api, order: Order, merchant: Merchant, recipient: str
) -> None:
    allow(merchant, SOLANA_WALLET)
    assert_refused(api.post(PATH, order()), recipient)


def test_one_merchants_list_is_no_other_merchants(
    order: Order, merchant: Merchant, other_merchant: Merchant
) -> None:
    allow(merchant, OTHER)
    stranger = Api(issue_key(merchant=other_merchant, permissions=["create_payments"])[1])
    assert stranger.post(PATH, order()).status_code == 201


def test_rejected_recipient_is_reported_with_other_errors(api: Api, order: Order, merchant: Merchant) -> None:
    allow(merchant, OTHER)
    refused = api.post(PATH, order(amount="0"))
    assert [each["code"] for each in refused.json()["error"]["details"]] == [
        "amount_not_positive",
        "recipient_not_allowed",
    ]
    assert not PaymentRequest.objects.exists()


def test_disallowed_recipient_is_rejected_without_node_call(
    api: Api, order: Order, merchant: Merchant, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(merchant, OTHER)
    monkeypatch.setattr("payments.api.serializers.get_client", lambda chain: pytest.fail("a node was asked"))
    assert api.post(PATH, order()).json()["error"]["code"] == "recipient_not_allowed"


def test_replay_ignores_the_list_and_a_new_call_obeys_it(
    api: Api, order: Order, merchant: Merchant, recipient: str
) -> None:
    first = api.post(PATH, order(), **{"Idempotency-Key": "one"})
    allow(merchant, OTHER)
    again = api.post(PATH, order(), **{"Idempotency-Key": "one"})
    assert (again.status_code, again["Idempotent-Replayed"]) == (201, "true")
    assert again.content == first.content
    assert PaymentRequest.objects.count() == 1
    refused = api.post(PATH, order(), **{"Idempotency-Key": "two"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "recipient_not_allowed")
    assert PaymentRequest.objects.count() == 1
    allow(merchant, recipient)
    assert api.post(PATH, order(), **{"Idempotency-Key": "two"}).status_code == 201


@pytest.mark.parametrize("name", ["allowed_recipients", "allow_recipient"])
def test_no_call_of_the_api_changes_the_list(
    api: Api, order: Order, merchant: Merchant, recipient: str, name: str
) -> None:
    allow(merchant, recipient)
    before = list(AllowedRecipient.objects.values())
    bodies = (
        (PATH, order(**{name: [OTHER]})),
        ("/api/webhooks", {"url": "https://shop.example/hook", name: [OTHER]}),
    )
    for path, body in bodies:
        answer = api.call("PUT" if path == "/api/webhooks" else "POST", path, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_unknown")
    assert list(AllowedRecipient.objects.values()) == before


def test_requests_that_exist_keep_their_recipient(
    api: Api, order: Order, merchant: Merchant, public: Api
) -> None:
    created = api.post(PATH, order()).json()
    allow(merchant, OTHER)
    shown = public.get(f"/api/public/payment-requests/{created['id']}")
    assert (shown.status_code, shown.json()["recipient_address"]) == (200, created["recipient_address"])


@pytest.fixture
def new_request(usdc: Token, recipient: str) -> NewRequest:
    return NewRequest(usdc, amount=1, recipient_address=recipient, lifetime=timedelta(hours=1))


def while_uncommitted(first: Callable[[], Any], then: Callable[[], Any]) -> Any:
    """Run `first`, then run `then` in a thread until it waits, and commit `first`; return the result of `then`."""

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            running = pool.submit(_closing(then))
            _wait_for_a_lock(running)
        return running.result(timeout=60)


def _closing(job: Callable[[], Any]) -> Callable[[], Any]:
    """Return a function that runs `job` and closes the thread's connection."""

    def run() -> Any:
        try:
            return job()
        finally:
            connection.close()

    return run


def _wait_for_a_lock(running: Future[Any]) -> None:
    is_waiting = False
    with connection.cursor() as cursor:
        while not is_waiting:
            assert not running.done(), "it did not wait"
            cursor.execute(
                "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
                " WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted)"
            )
            (is_waiting,) = cursor.fetchone()


@pytest.mark.django_db(transaction=True)
def test_disallowing_a_recipient_waits_for_earlier_creates(
    merchant: Merchant, recipient: str, new_request: NewRequest
) -> None:
    allow(merchant, recipient, OTHER)
    left = while_uncommitted(
        lambda: create_request(merchant, new_request, actor="test"),
        lambda: disallow_recipients(merchant, [("evm", recipient)], request=None),
    )
    assert left == 1
    assert PaymentRequest.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_create_during_disallowing_its_recipient_is_rejected(
    merchant: Merchant, recipient: str, new_request: NewRequest
) -> None:
    allow(merchant, recipient, OTHER)
    with pytest.raises(ApiError) as refused:
        while_uncommitted(
            lambda: disallow_recipients(merchant, [("evm", recipient)], request=None),
            lambda: create_request(merchant, new_request, actor="test"),
        )
    assert refused.value.problems[0].code == "recipient_not_allowed"
    assert not PaymentRequest.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_creates_do_not_wait_for_one_another(merchant: Merchant, new_request: NewRequest) -> None:
    with transaction.atomic():
        create_request(merchant, new_request, actor="test")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(_closing(lambda: create_request(merchant, new_request, actor="test"))).result(
                timeout=60
            )
    assert PaymentRequest.objects.count() == 2
