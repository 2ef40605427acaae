"""The product does what the docs say about limits, rotation, tasks and the security log."""

import getpass
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from celery import Task
from django.core.management import call_command, get_commands

from chains.models import Token
from config.celery import app
from config.environment.declared import declared
from merchants.models import AuditEntry, Merchant
from payments.models import PaymentRequest
from payments.requests import transitions
from tests.conftest import Api
from tests.support.docs.pages import API, ARCHITECTURE, REPOSITORY, rows_by_code, table_rows
from tests.support.webhooks.receiver import running_receiver
from tests.unit.config.api.schema.test_openapi import COMPONENTS
from webhooks.dispatch.dispatcher import CONCURRENCY, SLOW_MS, SLOW_SHARE
from webhooks.dispatch.leasing import MAX_IN_FLIGHT_PER_MERCHANT, MAX_SLOW_IN_FLIGHT_PER_MERCHANT
from webhooks.dispatch.testing import send_test_event
from webhooks.endpoints.configuration import Change, configure
from webhooks.event_types import EventType

DOCS = REPOSITORY / "docs"
NUMBERS = {"one": 1, "two": 2, "five": 5, "nine": 9, "ten": 10}
WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


def _text(name: str) -> str:
    """Return a page with its line breaks as spaces."""
    return " ".join((DOCS / name).read_text().split())


# --- the API reference and api.md ---


@pytest.fixture
def ask(api: Api, usdc: Token) -> Callable[..., Any]:
    """Return a function that creates a payment request with these fields and the required ones."""
    needed = {"amount": "1", "token_id": usdc.id, "chain_id": usdc.chain_id, "recipient_address": WALLET}
    return lambda **fields: api.post("/api/payment-requests", {**needed, **fields})


FIELDS = COMPONENTS["NewPaymentRequest"]["properties"]
# `rows_by_code` returns the last row of a name. These are the first rows.
ROWS = {row[0].strip("`"): row[1] for row in reversed(list(table_rows(API))) if len(row) == 2}


@pytest.mark.parametrize("field", ["external_id", "description"])
def test_text_is_limited_as_the_reference_says(ask: Callable[..., Any], field: str) -> None:
    most = FIELDS[field]["maxLength"]
    assert ask(**{field: "x" * most}).status_code == 201
    refused = ask(**{field: "x" * (most + 1)})
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, field)
    assert PaymentRequest.objects.count() == 1


def test_metadata_is_limited_as_the_reference_says(ask: Callable[..., Any]) -> None:
    pairs, key, value = map(int, re.findall(r"\d+", FIELDS["metadata"]["description"]))
    assert ask(metadata={f"{n:0{key}}": "x" * value for n in range(pairs)}).status_code == 201
    for too_large in (
        {str(n): "" for n in range(pairs + 1)},
        {"k" * (key + 1): ""},
        {"k": "x" * (value + 1)},
    ):
        assert ask(metadata=too_large).status_code == 400
    assert PaymentRequest.objects.count() == 1


def test_request_lives_as_long_as_the_reference_says(ask: Callable[..., Any]) -> None:
    least, most = FIELDS["expires_in"]["minimum"], FIELDS["expires_in"]["maximum"]
    default = int(re.findall(r"Default: (\d+)", FIELDS["expires_in"]["description"])[0])
    for seconds, fields in ((default, {}), (least, {"expires_in": least}), (most, {"expires_in": most})):
        made = PaymentRequest.objects.get(pk=ask(**fields).json()["id"])
        assert (made.expires_at - made.created_at).total_seconds() == pytest.approx(seconds, abs=2)
    for seconds in (least - 1, most + 1):
        assert ask(expires_in=seconds).status_code == 400
    assert PaymentRequest.objects.count() == 3


def test_a_list_is_as_long_as_api_md_says(api: Api) -> None:
    least, most, _ = map(int, re.findall(r"\d+", ROWS["limit"]))
    statuses = [api.get(f"/api/events?limit={n}").status_code for n in (least - 1, least, most, most + 1)]
    assert statuses == [400, 200, 200, 400]


def test_the_limits_of_api_md_are_the_defaults() -> None:
    stated = [row[1] for row in table_rows(API) if len(row) == 4 and re.match(r"\d+ a ", row[1])]
    names = ("RATE_LIMIT_API", "RATE_LIMIT_PUBLIC", "RATE_LIMIT_EXPENSIVE")
    assert [row.replace(" a ", "/") for row in stated] == [declared()[name].default for name in names]


def test_request_without_references_gets_route_with_payer_proof(
    api: Api, ask: Callable[..., Any], usdc: Token, local_chain: Any
) -> None:
    assert "contains no reference. Instead, the customer first signs a message" in _text("api.md")
    id_ = ask(references=False).json()["id"]
    wallet = {"wallet_address": local_chain.payer, "chain_id": usdc.chain_id, "token_id": usdc.pk}
    public = Api()
    (route,) = public.post(f"/api/public/payment-requests/{id_}/routes", wallet).json()["routes"]
    built = public.post("/api/public/build-transaction", {"route_id": route["id"]}).json()
    assert built["binding"] == "payer"
    assert built["payer_proof"]["message"]


# --- receiving-webhooks.md ---


def test_former_secrets_sign_as_many_as_the_documented_maximum(merchant: Merchant) -> None:
    (most,) = re.findall(r"At most (\w+) former secrets sign", _text("receiving-webhooks.md"))
    with running_receiver() as receiver:
        configure(merchant, Change(url=receiver.url))
        for rotations in range(NUMBERS[most] + 3):
            send_test_event(merchant, EventType.PAYMENT_SUCCEEDED)
            signatures = receiver.received[-1].headers["Service-Signature"].count("v1=")
            assert signatures == min(rotations, NUMBERS[most]) + 1
            configure(merchant, Change(url=receiver.url, rotate_secret=True))
    (in_header,) = re.findall(r"a `v1=` for each secret, (\w+) at most\.", " ".join(API.read_text().split()))
    assert NUMBERS[in_header] == NUMBERS[most] + 1


# --- architecture.md ---


def test_slow_receiver_share_matches_the_page() -> None:
    (row,) = [row[1] for row in table_rows(ARCHITECTURE) if row[0] == "a receiver is slow or down"]
    found = re.search(
        r"a merchant has at most (\w+) attempts at a time, or (\w+) at a time if its endpoint fails or takes more than "
        r"(\w+) seconds. Slow receivers share half of a worker's (\d+) threads",
        row,
    )
    assert found, row
    most, slow, seconds, threads = found.groups()
    assert (NUMBERS[most], NUMBERS[slow]) == (MAX_IN_FLIGHT_PER_MERCHANT, MAX_SLOW_IN_FLIGHT_PER_MERCHANT)
    assert (NUMBERS[seconds] * 1000, int(threads)) == (SLOW_MS, CONCURRENCY)
    assert SLOW_SHARE == 0.5


@pytest.mark.parametrize(
    ("heading", "moves"),
    [("A request (", transitions._REQUEST_MOVES), ("A payment (", transitions._PAYMENT_MOVES)],
    ids=["request", "payment"],
)
def test_the_moves_between_states_are_those_that_the_page_draws(
    heading: str, moves: dict[str, tuple[str, ...]]
) -> None:
    (drawn,) = re.findall(re.escape(heading) + r".*?```text\n(.*?)```", ARCHITECTURE.read_text(), re.DOTALL)
    stated = set(re.findall(r"(\w+) ──► (\w+)", drawn))
    stated |= {(before, after) for after, before in re.findall(r"(\w+) ◄── (\w+)", drawn)}
    assert stated == {(str(before), str(after)) for after, befores in moves.items() for before in befores}


# --- decisions/0001 ---


def test_no_task_but_the_one_that_is_named_takes_an_argument() -> None:
    app.loader.import_default_modules()
    ours = [task for name, task in app.tasks.items() if not name.startswith("celery.")]
    assert len(ours) > 10
    assert {task.name.rpartition(".")[2] for task in ours if _parameters(task)} == set(
        re.findall(r"Only `(\w+)` and\s+`(\w+)` take one", _text("decisions/0001-due-work-is-a-row.md"))[0]
    )


def _parameters(task: "Task[Any, Any]") -> list[str]:
    return list(inspect.signature(task.run).parameters)


# --- operating.md ---


def _logged(what: Callable[[], object]) -> set[str]:
    before = AuditEntry.objects.count()
    what()
    entries = AuditEntry.objects.order_by("pk")[before:]
    return {entry.actor for entry in entries}


@pytest.mark.django_db
def test_commands_named_on_page_are_in_the_security_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = _text("operating.md")
    (named,) = re.findall(r"((?:`\w+`(?:, | and )?)+) are recorded with the actor \*command line\*", text)
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a long enough password 51c2")
    monkeypatch.setattr(getpass, "getpass", lambda **_: "another long password 93ab")
    calls: dict[str, tuple[str, ...]] = {
        "createsuperuser": ("--noinput", "--username", "root", "--email", "root@shop.example"),
        "changepassword": ("root",),
        "create_merchant": ("Shop",),
        "create_api_key": ("Shop",),
        "set_merchant": ("Shop", "--references", "off"),
        "switch": ("off", "swaps"),
        "add_member": ("Shop", "anna@shop.example", "--role", "owner"),
        "reset_two_factor": ("root",),
    }
    assert set(re.findall(r"\w+(?=`)", named)) == calls.keys()
    for command, arguments in calls.items():
        assert _logged(lambda c=command, a=arguments: call_command(c, *a)) == {"command line"}, command  # type: ignore[misc]


def test_each_command_is_recorded_or_changes_no_merchant_data() -> None:
    ours = {
        name
        for name, where in get_commands().items()
        if where in ("merchants", "payments", "chains", "webhooks")
    }
    recorded = {
        "create_merchant",
        "add_member",
        "create_api_key",
        "set_merchant",
        "switch",
        "reset_two_factor",
        "createsuperuser",
        "changepassword",
    }
    assert ours - recorded == {
        "load_catalogue",
        "deploy_factory",
        "check_deposits",
        "build_sweep",
        "rebuild_daily_stats",
        "reencrypt_secrets",
    }


# --- README.md ---


def test_documented_web_threads_match_the_configuration() -> None:
    (threads,) = re.findall(
        r"^threads = (\d+)", (REPOSITORY / "config" / "gunicorn.py").read_text(), re.MULTILINE
    )
    row = rows_by_code(REPOSITORY / "README.md")["WEB_CONCURRENCY"][1]
    assert f"each has {threads} threads" in row
