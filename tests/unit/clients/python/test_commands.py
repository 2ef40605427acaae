"""The `quittance` command does its task, shows the next step, and exits with the right code."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import quittance
from django.conf import LazySettings
from quittance.cli.main import main
from quittance.cli.simulate import OUTCOMES as SIMULATED
from quittance.cli.trigger import OUTCOMES

from chains.models import Chain, Token
from demo.services.process import free_port
from merchants.models import Merchant
from merchants.services import issue_key
from payments.models import PaymentRequest
from payments.sandbox import Outcome
from tests.conftest import Api
from tests.support.clients.python.middleman import Middleman, answering, problem
from tests.unit.clients.python.conftest import NOBODY_LISTENS, RECIPIENT
from tests.unit.clients.python.running import SOURCE

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def environment(service: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUITTANCE_API_KEY", key)
    monkeypatch.setenv("QUITTANCE_BASE_URL", service)


@pytest.mark.parametrize("event", list(OUTCOMES))
def test_each_event_can_be_triggered(
    environment: None, client: quittance.Client, coin: Token, event: str, capsys: Capture
) -> None:
    assert main(["trigger", event, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    made = PaymentRequest.objects.get(is_refund=False)
    assert (shown["type"], shown["data"]["object"]["payment_request"]) == (event, str(made.id))
    assert client.events.retrieve(shown["id"]).to_dict() == shown
    assert (made.token, made.amount, made.external_id) == (coin, 1_000_000, "quittance-trigger")


def test_an_event_is_shown_to_people(environment: None, coin: Token, capsys: Capture) -> None:
    assert main(["trigger", "payment.succeeded", "--amount", "2.5", "--external-id", "order-7"]) == 0
    shown = capsys.readouterr().out
    made = PaymentRequest.objects.get()
    page = f"/pay/{made.shortcode}\n"
    for words in ("payment.succeeded  evt_", "(completed)", "2.500000 USDC", "order-7", page):
        assert words in shown


def test_an_outcome_is_simulated_for_a_request_that_is_there(
    environment: None, client: quittance.Client, terms: Callable[..., dict[str, Any]], capsys: Capture
) -> None:
    made = client.payment_requests.create(**terms())
    assert main(["simulate", made.id, "failed"]) == 0
    shown = capsys.readouterr().out
    assert f"{made.id}: active" in shown
    assert PaymentRequest.objects.get().payments.get().failure_code in shown
    assert main(["simulate", made.id, "paid", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "completed"
    assert PaymentRequest.objects.get().status == "completed"


def test_simulate_command_chooses_a_payment_and_a_refund(
    environment: None, client: quittance.Client, terms: Callable[..., dict[str, Any]]
) -> None:
    made = client.payment_requests.create(**terms())
    first = client.sandbox.simulate(made.id, "pending").payments[0]
    second = client.sandbox.simulate(made.id, "pending").payments[0]
    assert main(["simulate", made.id, "failed", "--payment-id", first.id]) == 0
    statuses = {each.id: each.status for each in client.payment_requests.retrieve(made.id).payments}
    assert statuses == {first.id: "failed", second.id: "pending"}
    refund = client.sandbox.simulate(made.id, "refund_requires_address").refunds[0]
    assert main(["simulate", made.id, "refund_claimed", "--refund-id", refund.id]) == 0
    assert client.payment_requests.retrieve(made.id).refunds[0].address_source == "customer"


def test_the_outcomes_of_the_command_are_those_of_the_service() -> None:
    assert set(SIMULATED) == set(Outcome)


def test_an_unknown_outcome_changes_nothing(
    environment: None,
    client: quittance.Client,
    terms: Callable[..., dict[str, Any]],
    capsys: Capture,
) -> None:
    made = client.payment_requests.create(**terms())
    with pytest.raises(SystemExit) as ended:
        main(["simulate", made.id, "happy"])
    assert ended.value.code == 2
    assert "bridge_refunded" in capsys.readouterr().err
    assert client.payment_requests.retrieve(made.id).payments == []


def test_an_event_can_be_triggered_on_solana(environment: None, db: None, capsys: Capture) -> None:
    chain = Chain.objects.create(
        id=1151111081099710,
        name="Solana",
        chain_type="solana",
        rpc_urls=[NOBODY_LISTENS],
        native_symbol="SOL",
        confirmations="finalized",
        block_time_ms=400,
    )
    Token.objects.create(chain=chain, symbol="SOL", name="SOL", decimals=9, contract_address="")
    assert main(["trigger", "payment.succeeded"]) == 0
    assert PaymentRequest.objects.get().status == "completed"


@pytest.mark.parametrize(
    ("command", "unchanged"),
    [
        (["trigger", "payment.succeeded"], "Nothing was created"),
        (["simulate", str(uuid.uuid4()), "paid"], "Nothing was changed"),
    ],
    ids=["trigger", "simulate"],
)
def test_without_a_sandbox_nothing_changes_and_staging_is_named(
    middleman: Middleman,
    key: str,
    coin: Token,
    command: list[str],
    unchanged: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    """In production, everything under /api/test returns 404."""
    monkeypatch.setenv("QUITTANCE_API_KEY", key)
    middleman.faults = [answering(404, problem("resource_missing", "invalid_request_error"))]
    assert main([*command, "--base-url", middleman.url]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "staging" in shown.err
    assert unchanged in shown.err
    assert not PaymentRequest.objects.exists()


def test_requests_are_created_listed_read_and_cancelled(
    environment: None, coin: Token, capsys: Capture
) -> None:
    arguments = [
        "--chain-id",
        str(coin.chain_id),
        "--token-id",
        str(coin.id),
        "--recipient-address",
        RECIPIENT,
    ]
    create = ["requests", "create", "--amount", "12.50", *arguments, "--external-id", "order-1001"]
    assert main([*create, "--metadata", "cart=7", "--metadata", "note=a=b"]) == 0
    made = PaymentRequest.objects.get()
    assert made.metadata == {"cart": "7", "note": "a=b"}
    shown = capsys.readouterr().out
    for words in (str(made.id), "12.500000 USDC", f"/pay/{made.shortcode}", "order-1001"):
        assert words in shown
    assert main(["requests", "list"]) == 0
    headings, row = capsys.readouterr().out.splitlines()
    assert row.split()[:4] == [str(made.id), "active", "12.500000", "USDC"]
    assert headings.index("REFERENCE") == row.index("order-1001")
    assert main(["requests", "cancel", str(made.id), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "cancelled"
    assert main(["requests", "get", str(made.id)]) == 0
    assert "cancelled" in capsys.readouterr().out
    assert main(["requests", "list", "--status", "active"]) == 0
    assert capsys.readouterr() == ("", "There is no such payment request.\n")


def test_list_has_the_requested_length(
    environment: None, client: quittance.Client, terms: Callable[..., dict[str, Any]], capsys: Capture
) -> None:
    made = [client.payment_requests.create(**terms()).id for _ in range(4)]
    assert main(["requests", "list", "--limit", "3", "--json"]) == 0
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == made[:0:-1]
    assert main(["requests", "list", "--limit", "0"]) == 2


def test_events_are_listed_and_read(
    environment: None, client: quittance.Client, terms: Callable[..., dict[str, Any]], capsys: Capture
) -> None:
    made = client.payment_requests.create(**terms(external_id="order-7"))
    client.sandbox.simulate(made.id, "expired")
    (event,) = client.events.list()
    assert main(["events", "list", "--type", "payment.expired"]) == 0
    row = capsys.readouterr().out.splitlines()[1]
    assert row.split() == [event.id, "payment.expired", *row.split()[2:4], made.id, "order-7"]
    assert main(["events", "get", event.id]) == 0
    assert "none: expired" in capsys.readouterr().out  # no payment was made
    assert main(["events", "list", "--type", "payment.failed", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_the_catalogue_is_shown(environment: None, coin: Token, capsys: Capture) -> None:
    assert main(["chains"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["8453", "Base", "evm"]
    assert main(["tokens", "8453"]) == 0
    shown = capsys.readouterr().out
    assert "(native coin)" in shown
    assert coin.contract_address in shown


def test_rejection_names_every_field_and_exits_with_1(
    environment: None, coin: Token, capsys: Capture
) -> None:
    arguments = [
        "--amount",
        "1e3",
        "--chain-id",
        "8453",
        "--token-id",
        str(coin.id),
        "--recipient-address",
        "x",
    ]
    assert main(["requests", "create", *arguments]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "amount_invalid" in shown.err
    assert "recipient_address: " in shown.err
    assert not PaymentRequest.objects.exists()


@pytest.mark.parametrize(
    ("missing", "advice"),
    [("QUITTANCE_API_KEY", "--api-key-file"), ("QUITTANCE_BASE_URL", "https://pay.example.com")],
)
def test_a_missing_setting_is_named(
    environment: None, missing: str, advice: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv(missing)
    assert main(["requests", "list"]) == 2
    said = capsys.readouterr().err
    assert missing in said
    assert advice in said


def test_key_is_read_from_a_file(
    service: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("QUITTANCE_API_KEY", raising=False)
    (tmp_path / "key").write_text(f"{key}\n")
    asked = ["requests", "list", "--base-url", service, "--api-key-file"]
    assert main([*asked, str(tmp_path / "key")]) == 0
    assert main([*asked, str(tmp_path / "nothing")]) == 2
    assert "can't be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", [["--api-key", "{}"], ["--api-key-file", "{}"], ["--api-key-file={}"], ["{}"]]
)
def test_key_in_the_arguments_is_neither_used_nor_repeated(
    service: str, key: str, option: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("QUITTANCE_API_KEY", raising=False)
    given = [each.format(key) for each in option]
    assert _exit_code(["requests", "list", "--base-url", service, *given]) == 2
    shown = capsys.readouterr()
    assert key[6:] not in shown.out + shown.err
    assert "rotate" in shown.err


def test_wrong_key_and_missing_permission_name_the_next_step(
    environment: None, merchant: Merchant, coin: Token, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("QUITTANCE_API_KEY", "quitt_" + "0" * 40)
    assert main(["events", "list"]) == 1
    assert "made in its admin" in capsys.readouterr().err
    reader = issue_key(merchant=merchant, permissions=[], name="reader")[1]
    monkeypatch.setenv("QUITTANCE_API_KEY", reader)
    assert main(["trigger", "payment.succeeded"]) == 1
    said = capsys.readouterr().err
    assert "create_payments" in said
    assert "has the permission" in said
    assert not PaymentRequest.objects.exists()


def test_a_service_that_can_not_be_reached_exits_with_3(
    environment: None, quick_retries: None, capsys: Capture
) -> None:
    assert main(["requests", "list", "--base-url", f"http://127.0.0.1:{free_port()}"]) == 3
    assert "QUITTANCE_BASE_URL" in capsys.readouterr().err


def test_a_service_that_can_not_be_used_now_exits_with_3(
    environment: None, middleman: Middleman, quick_retries: None
) -> None:
    middleman.faults = [answering(503, problem("service_unavailable", "upstream_error"))] * 4
    assert main(["requests", "list", "--base-url", middleman.url]) == 3


def test_malformed_id_is_rejected_before_any_call(environment: None, capsys: Capture) -> None:
    assert main(["requests", "get", "../webhooks"]) == 2
    assert "not an id" in capsys.readouterr().err


def test_a_reader_who_has_had_enough_is_no_error(
    key: str, client: quittance.Client, terms: Callable[..., dict[str, Any]], service: str
) -> None:
    client.payment_requests.create(**terms())
    reading, writing = os.pipe()
    os.close(reading)
    environment = {"QUITTANCE_API_KEY": key, "QUITTANCE_BASE_URL": service, "PYTHONPATH": str(SOURCE)}
    listing = subprocess.run(
        [sys.executable, "-m", "quittance", "requests", "list"],
        env={**os.environ, **environment},
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=30,
    )
    os.close(writing)
    assert (listing.returncode, listing.stderr) == (0, b"")


@pytest.mark.parametrize(("environment", "status"), [("staging", 405), ("production", 404)])
def test_simulate_path_exists_in_staging_only(
    api: Api, settings: LazySettings, environment: str, status: int
) -> None:
    """`trigger` makes this call first. Otherwise it would leave a request that can't be simulated."""
    settings.ENVIRONMENT = environment
    assert api.get(f"/api/test/payment-requests/{uuid.UUID(int=0)}/simulate").status_code == status


def _exit_code(arguments: list[str]) -> int | str | None:
    try:
        return main(arguments)
    except SystemExit as ended:
        return ended.code
