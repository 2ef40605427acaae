"""Lists show the newest first, are split at a cursor, can be filtered, and never contain another merchant's objects."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chains.models import Chain, Token
from merchants.models import Merchant
from merchants.services import issue_key
from payments.models import Payment, PaymentLink, PaymentRequest
from tests.conftest import Api
from tests.support.api.fixtures import error_of
from tests.support.payments.rows import new_payment
from webhooks.models import Delivery, Event

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
REQUESTS = "/api/payment-requests"


@pytest.fixture
def coin(db: None) -> Token:
    chain = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x1"
    )


@pytest.fixture
def make(coin: Token, merchant: Merchant) -> Callable[..., PaymentRequest]:
    """Return a function that makes a payment request `at` minutes after the start."""

    def build(at: float, **different: Any) -> PaymentRequest:
        time = BEGAN + timedelta(minutes=at)
        fields = {
            "merchant": merchant,
            "chain": coin.chain,
            "token": coin,
            "amount": 1_000_000,
            "recipient_address": "0x2",
            "created_at": time,
            "expires_at": time,
            "expiry_check_at": time,
        }
        return PaymentRequest.objects.create(**{**fields, **different})

    return build


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [item["id"] for item in answer.json()["data"]]


# For every list: its path, and a function that makes an object this many minutes after the start and returns
# its id.
@pytest.fixture(params=["requests", "payments", "links", "events", "deliveries"])
def shelf(
    request: pytest.FixtureRequest, merchant: Merchant, coin: Token, make: Callable[..., PaymentRequest]
) -> tuple[str, Callable[[float], str]]:
    def event(at: float, owner: Merchant = merchant) -> Event:
        time = BEGAN + timedelta(minutes=at)
        made = Event(
            merchant=owner, type="payment.failed", created=time, dedupe_key=str(Event.objects.count())
        )
        made.body = b'{"id":"%s"}' % made.id.encode()
        made.save()
        return made

    def delivery(at: float) -> Delivery:
        time = BEGAN + timedelta(minutes=at)
        return Delivery.objects.create(
            merchant=merchant,
            event=event(at),
            public_event_id="evt_1",
            type="payment.failed",
            created_at=time,
            due_at=time,
        )

    def payment(at: float) -> Payment:
        return new_payment(
            request=paid,
            chain=coin.chain,
            transaction_hash=f"0x{Payment.objects.count():064x}",
            created_at=BEGAN + timedelta(minutes=at),
        )

    def link(at: float) -> str:
        made = PaymentLink.objects.create(
            merchant=merchant,
            name="Tasting",
            chain=coin.chain,
            token=coin,
            amount=1,
            recipient_address="0x2",
            created_at=BEGAN + timedelta(minutes=at),
        )
        return made.id

    match request.param:
        case "requests":
            return REQUESTS, lambda at: str(make(at).id)
        case "links":
            return "/api/payment-links", link
        case "events":
            return "/api/events", lambda at: event(at).id
        case "deliveries":
            return "/api/webhooks/deliveries", lambda at: delivery(at).id
    paid = make(0)
    return f"{REQUESTS}/{paid.id}/payments", lambda at: payment(at).id


Shelf = tuple[str, Callable[[float], str]]


def test_an_empty_list_is_a_list(api: Api, shelf: Shelf) -> None:
    answer = api.get(shelf[0])
    assert answer.json() == {"object": "list", "url": shelf[0], "has_more": False, "data": []}
    assert answer["Cache-Control"] == "no-store"


def test_page_has_twenty_items_by_default_newest_first(api: Api, shelf: Shelf) -> None:
    path, add = shelf
    made = [add(at) for at in range(25)][::-1]
    first = api.get(path)
    assert (ids(first), first.json()["has_more"]) == (made[:20], True)
    assert ids(api.get(f"{path}?limit=3")) == made[:3]
    everything = api.get(f"{path}?limit=100")
    assert (ids(everything), everything.json()["has_more"]) == (made, False)
    assert first.json()["url"] == path


def test_it_can_be_read_in_pages_from_end_to_end_and_back(api: Api, shelf: Shelf) -> None:
    path, add = shelf
    # Some objects have the same time. Then their ids decide the order, and none is lost between pages.
    for at in (0, 1, 1, 1, 1, 2, 3, 3, 4):
        add(at)
    everything = ids(api.get(f"{path}?limit=100"))
    assert len(everything) == 9
    for limit in (1, 2, 4, 9):
        assert list(_read_on(api, path, "starting_after", limit, everything[0])) == everything[1:]
        backwards = list(_read_on(api, path, "ending_before", limit, everything[-1]))
        assert backwards == everything[-2::-1]


def _read_on(api: Api, path: str, parameter: str, limit: int, cursor: str) -> Iterator[str]:
    """Yield the ids after `cursor`, page by page.

    Pages towards newer objects are read from their last to their first id.
    """
    while True:
        answer = api.get(f"{path}?limit={limit}&{parameter}={cursor}")
        page = ids(answer)
        page = page if parameter == "starting_after" else page[::-1]
        yield from page
        if not answer.json()["has_more"]:
            return
        assert len(page) == limit
        cursor = page[-1]


def test_new_items_do_not_shift_the_following_pages(api: Api, shelf: Shelf) -> None:
    path, add = shelf
    made = [add(at) for at in range(4)][::-1]
    first = ids(api.get(f"{path}?limit=2"))
    newest = add(9)
    assert first + ids(api.get(f"{path}?limit=2&starting_after={first[-1]}")) == made
    assert ids(api.get(f"{path}?ending_before={first[0]}")) == [newest]
    nothing = api.get(f"{path}?ending_before={newest}")
    assert (ids(nothing), nothing.json()["has_more"]) == ([], False)


def test_far_page_costs_no_more_queries_than_the_first(api: Api, shelf: Shelf) -> None:
    path, add = shelf
    made = [add(at) for at in range(30)][::-1]
    api.get(path)
    with CaptureQueriesContext(connection) as first:
        api.get(f"{path}?limit=5")
    with CaptureQueriesContext(connection) as far:
        api.get(f"{path}?limit=17&starting_after={made[5]}")
    assert len(far) <= len(first) + 1  # one more query, for the cursor
    (page,) = [query["sql"] for query in far if "LIMIT 18" in query["sql"]]
    assert "OFFSET" not in page
    assert ") < (" in page  # a row comparison, which an index supports


WRONG_QUERIES = [
    ("limit=0", "limit"), ("limit=101", "limit"), ("limit=", "limit"), ("limit=1e1", "limit"),
    ("limit=%EF%BC%95", "limit"), ("limit=" + "9" * 5000, "limit"), ("limit=5&limit=5", "limit"),
    ("starting_after=", "starting_after"), ("starting_after=nothing", "starting_after"),
    ("starting_after=01890000-0000-7000-8000-000000000000", "starting_after"),
    ("starting_after=%00", "starting_after"), ("starting_after=%FF", "starting_after"),
    ("ending_before=evt_111111111111111111111111", "ending_before"),
    ("page=2", "page"), ("Limit=5", "Limit"), ("format=xml", "format"), ("=5", ""),
]  # fmt: skip


def test_wrong_query_error_names_the_parameter(api: Api, shelf: Shelf) -> None:
    path, add = shelf
    add(0)
    for query, param in WRONG_QUERIES:
        answer = api.get(f"{path}?{query}")
        error = error_of(answer)
        assert (answer.status_code, error["param"] or "") == (400, param), query
        assert error["code"] in ("parameter_invalid", "parameter_unknown")


def test_both_cursors_at_once_are_rejected(api: Api, shelf: Shelf) -> None:
    path, add = shelf
    first, second = add(0), add(1)
    error = error_of(api.get(f"{path}?starting_after={second}&ending_before={first}"))
    assert (error["code"], error["param"]) == ("parameter_invalid", "ending_before")


def test_all_errors_of_a_query_are_reported_together(api: Api, shelf: Shelf) -> None:
    error = error_of(api.get(f"{shelf[0]}?limit=0&page=2&starting_after=%1B"))
    assert [detail["param"] for detail in error["details"]] == ["limit", "starting_after", "page"]


def test_another_merchants_object_is_no_cursor_and_in_no_list(
    api: Api, shelf: Shelf, other_merchant: Merchant
) -> None:
    path, add = shelf
    mine = add(0)
    stranger = Api(issue_key(merchant=other_merchant, permissions=["manage_webhooks"])[1])
    if path.endswith("/payments"):
        assert stranger.get(path).status_code == 404
        return
    assert ids(stranger.get(path)) == []
    for parameter in ("starting_after", "ending_before"):
        taken = stranger.get(f"{path}?{parameter}={mine}")
        made_up = stranger.get(f"{path}?{parameter}={'0' * len(mine)}")
        assert taken.status_code == made_up.status_code == 400
        messages = [error_of(answer)["message"] for answer in (taken, made_up)]
        assert messages[0].replace(mine, "") == messages[1].replace("0" * len(mine), "")


def test_the_payments_of_one_request_are_no_cursors_for_another(
    api: Api, make: Callable[..., PaymentRequest], coin: Token
) -> None:
    one, other = make(0), make(1)
    payment = new_payment(request=one, chain=coin.chain, transaction_hash="0x1")
    assert api.get(f"{REQUESTS}/{one.id}/payments?starting_after={payment.id}").status_code == 200
    assert api.get(f"{REQUESTS}/{other.id}/payments?starting_after={payment.id}").status_code == 400
    assert ids(api.get(f"{REQUESTS}/{other.id}/payments")) == []


def test_what_is_listed_looks_like_what_is_retrieved(
    api: Api, make: Callable[..., PaymentRequest], coin: Token
) -> None:
    request = make(0)
    new_payment(request=request, chain=coin.chain, transaction_hash="0x1")
    (listed,) = api.get(REQUESTS).json()["data"]
    retrieved = api.get(f"{REQUESTS}/{request.id}").json()
    payments = retrieved.pop("payments")
    assert listed == retrieved
    assert api.get(f"{REQUESTS}/{request.id}/payments").json()["data"] == payments


def test_payment_requests_can_be_filtered(
    api: Api, make: Callable[..., PaymentRequest], coin: Token, merchant: Merchant
) -> None:
    solana = Chain.objects.create(
        id=1151111081099710, name="Solana", chain_type="solana", native_symbol="SOL"
    )
    sol = Token.objects.create(chain=solana, symbol="SOL", name="SOL", decimals=9, is_active=False)
    first = str(make(0, external_id="a").id)
    second = str(make(1, external_id="a", status="expired").id)
    third = str(make(2, external_id="", status="cancelled").id)
    fourth = str(make(3, chain=solana, token=sol).id)

    def listed(query: str) -> list[str]:
        return ids(api.get(f"{REQUESTS}?{query}"))

    assert listed("status=active") == [fourth, first]
    assert listed("status=expired") == [second]
    assert listed("status=completed") == []
    assert listed("external_id=a") == [second, first]
    assert listed("external_id=A") == []
    assert listed("external_id=") == [third]
    assert listed(f"token_id={coin.id}") == [third, second, first]
    assert listed(f"token_id={sol.id}") == [fourth]
    assert listed("chain_id=1151111081099710") == [fourth]
    assert listed("status=active&external_id=a&chain_id=8453") == [first]
    assert listed("created_after=2026-01-01T00:01:00Z") == [fourth, third]
    assert listed("created_before=2026-01-01T00:01:00Z") == [first]
    assert listed("created_after=2026-01-01T00:00:30Z&created_before=2026-01-01T00:02:00.000001Z") == [
        third,
        second,
    ]
    assert listed("created_after=2026-01-02T00:00:00Z&created_before=2026-01-01T00:00:00Z") == []
    # The cursor may be an object that the filter excludes.
    assert listed(f"status=active&starting_after={third}") == [first]
    assert listed(f"status=active&ending_before={second}") == [fourth]


@pytest.mark.parametrize(
    "time",
    ["2026-01-01T00:01:00Z", "2026-01-01t00:01:00z", "2026-01-01 00:01:00Z", "2026-01-01T00:01:00.000Z",
     "2026-01-01T00:01:00.000000000Z", "2026-01-01T02:01:00+02:00", "2025-12-31T19:01:00-05:00",
     "2026-01-01T05:46:00+05:45", "2026-01-01T00:01:00-00:00"],
)  # fmt: skip
def test_a_time_may_be_written_as_rfc_3339_allows(
    api: Api, make: Callable[..., PaymentRequest], time: str
) -> None:
    before, at, after = (str(make(minutes).id) for minutes in (0, 1, 2))
    assert ids(api.get(f"{REQUESTS}?created_after={quote(time)}")) == [after]
    assert ids(api.get(f"{REQUESTS}?created_before={quote(time)}")) == [before]
    assert at not in (before, after)


WRONG_TIMES = [
    "", "now", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00+0200", "2026-02-29T00:00:00Z",
    "2026-01-01T24:00:01Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00",
    "1767225600", "2026-W01-1T00:00:00Z", "２０２６-01-01T00:00:00Z", "2026-01-01T00:00:00Z ",
    "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00Z\x00", "9" * 3000,
]  # fmt: skip


def test_malformed_time_is_rejected(api: Api) -> None:
    for path, name, time in product(
        (REQUESTS, "/api/events"), ("created_after", "created_before"), WRONG_TIMES
    ):
        answer = api.get(f"{path}?{name}={quote(time)}")
        error = error_of(answer)
        assert (answer.status_code, error["code"], error["param"]) == (400, "parameter_invalid", name), time


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ("status=paid", "status", "parameter_invalid"), ("status=", "status", "parameter_invalid"),
        ("status=active&status=expired", "status", "parameter_invalid"),
        ("external_id=" + "x" * 256, "external_id", "parameter_invalid"),
        ("external_id=%E2%80%AE", "external_id", "parameter_invalid"),
        ("token_id=USDC", "token_id", "parameter_invalid"), ("token_id=-1", "token_id", "parameter_invalid"),
        ("token_id=0", "token_id", "token_unknown"), ("token_id=" + "9" * 30, "token_id", "token_unknown"),
        ("token_id=" + "9" * 31, "token_id", "parameter_invalid"), ("chain_id=5", "chain_id", "chain_unknown"),
        ("chain_id=0x2105", "chain_id", "parameter_invalid"), ("merchant=1", "merchant", "parameter_unknown"),
    ],
)  # fmt: skip
def test_wrong_filter_is_rejected(
    api: Api, make: Callable[..., PaymentRequest], query: str, param: str, code: str
) -> None:
    make(0)
    answer = api.get(f"{REQUESTS}?{query}")
    error = error_of(answer)
    assert (answer.status_code, error["param"], error["code"]) == (400, param, code)


def test_a_list_of_hundreds_costs_a_few_queries(api: Api, make: Callable[..., PaymentRequest]) -> None:
    for at in range(40):
        make(at)
    api.get(REQUESTS)
    with CaptureQueriesContext(connection) as asked:
        assert len(ids(api.get(f"{REQUESTS}?limit=40"))) == 40
    # Queries for the key, the page, and each chain, token and merchant once. A web process caches the latter.
    assert len(asked) <= 9


@pytest.mark.parametrize(
    "path", [REQUESTS, "/api/refunds", "/api/events", "/api/webhooks/deliveries", "/api/schema"]
)
def test_a_query_of_thousands_of_parameters_is_a_400(api: Api, path: str) -> None:
    answer = api.get(f"{path}?{'a&' * 2000}")
    assert (answer.status_code, error_of(answer)["code"]) == (400, "parameter_invalid")
