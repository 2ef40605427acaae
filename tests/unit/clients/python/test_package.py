"""The README's samples run unchanged, and the package declares its requirements."""

import ast
import os
import re
import runpy
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import quittance
import requests
from quittance.cli.main import main

from chains.models import Token
from payments.models import PaymentRequest
from tests.support.docs.pages import REPOSITORY, sample_with, samples
from tests.unit.clients.python.conftest import RECIPIENT
from tests.unit.clients.python.running import SOURCE

README = REPOSITORY / "clients" / "python" / "README.md"
PROJECT = tomllib.loads((README.parent / "pyproject.toml").read_text())["project"]
SECRET = "whsec_" + "s" * 32


@pytest.fixture
def environment(service: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment variables that the page has the reader set."""
    settings = {
        "QUITTANCE_API_KEY": key,
        "QUITTANCE_BASE_URL": service,
        "WALLET": RECIPIENT,
        "WEBHOOK_SECRET": SECRET,
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)


def test_quick_start_requests_a_payment(environment: None, coin: Token, tmp_path: Path) -> None:
    program = tmp_path / "quick_start.py"
    program.write_text(sample_with(README, "python", "payment_requests.create"))
    for _ in range(2):  # as after a crash: the second run finds the same request
        with redirect_stdout(StringIO()) as printed:
            runpy.run_path(str(program))
        made = PaymentRequest.objects.get()
        page, status = printed.getvalue().splitlines()
        assert page.endswith(f"/pay/{made.shortcode}")
        assert status == "active 0.000000 of 12.500000 USDC"
        assert (made.amount, made.external_id) == (12_500_000, "order-1001")


def test_the_listing_sample_goes_through_all(
    client: quittance.Client, terms: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    for number in range(2):
        made = client.payment_requests.create(**terms(external_id=f"order-{number}"))
        client.sandbox.simulate(made.id, "paid")
    program = tmp_path / "listing.py"
    program.write_text(sample_with(README, "python", "auto_paging_iter"))
    with redirect_stdout(StringIO()) as printed:
        runpy.run_path(str(program), init_globals={"client": client})
    assert printed.getvalue() == "order-1 12.500000\norder-0 12.500000\n"


def test_the_receiving_sample_believes_what_is_signed_once(
    environment: None, tmp_path: Path, client: quittance.Client, terms: Callable[..., dict[str, Any]]
) -> None:
    program = tmp_path / "receive.py"
    program.write_text(sample_with(README, "python", "webhooks.verify"))
    shop = SimpleNamespace(**runpy.run_path(str(program))).app.test_client()
    made = client.payment_requests.create(**terms(external_id="order-1001"))
    client.sandbox.simulate(made.id, "paid")
    event_id = client.events.list().data[0].id
    body = requests.get(
        f"{client.base_url}/api/events/{event_id}",
        headers={"X-API-Key": os.environ["QUITTANCE_API_KEY"]},
        timeout=10,
    ).content
    signature = quittance.webhooks.sign(body, SECRET, int(time.time()))
    with redirect_stdout(StringIO()) as printed:
        for header in (signature, signature, signature[:-1], None):
            headers = {"Service-Signature": header} if header else {}
            status = shop.post("/webhooks/quittance", data=body, headers=headers).status_code
            assert status == (200 if header == signature else 400)
    assert printed.getvalue() == "paid: order-1001\n"


def test_the_commands_that_the_page_names_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for block in samples(README, "sh") for line in block.splitlines()]
    commands = [line.split()[1:] for line in lines if line.startswith("quittance ")]
    assert len(commands) >= 9
    for words in commands:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0, words
        options = {word for word in words if word.startswith("--")}
        shown = capsys.readouterr().out
        assert all(option in shown for option in options), words


def test_the_page_names_every_call() -> None:
    page = README.read_text()
    client = quittance.Client("quitt_" + "0" * 40, base_url="https://pay.example.com")
    groups = {name: part for name, part in vars(client).items() if not name.startswith("_")}
    assert len(groups) == 9
    for name, part in groups.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `client.{name}` |")]
        calls = {each for each in dir(type(part)) if not each.startswith("_")}
        assert calls == set(re.findall(r"`\.(\w+)\(", row))


def test_it_is_written_for_its_oldest_python() -> None:
    assert PROJECT["requires-python"] == ">=3.10"
    for file in SOURCE.rglob("*.py"):
        ast.parse(file.read_text(), feature_version=(3, 10))


def test_it_needs_requests_and_nothing_of_the_service() -> None:
    assert [re.split(r"[<>=]", each)[0] for each in PROJECT["dependencies"]] == ["requests"]
    allowed = {*sys.stdlib_module_names, "quittance", "requests", "urllib3"}  # requests' own dependency
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            assert {name.split(".")[0] for name in names} <= allowed, file


def test_the_version_is_the_same_everywhere() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "quittance", "--version"],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.split() == ["quittance", PROJECT["version"]]
    assert quittance.__version__ == PROJECT["version"]
    assert (SOURCE / "quittance" / "py.typed").exists()
