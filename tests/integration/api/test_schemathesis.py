"""Call the running service thousands of times, with input that its OpenAPI document allows and input that it forbids.

`SCHEMATHESIS_EXAMPLES` is the number of random inputs for each operation: 3 by default, 200 for a thorough run. A limit
on the time would leave operations out on a slow machine.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from chains.models import Token
from merchants.models import ApiKey, Merchant
from tests.support.api.served import WALLET, Objects, Service, prepare

CONFIGURATION = Path(__file__).with_name("schemathesis.toml")
EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "3")


def with_real_names(schema: dict[str, Any], there: Objects) -> dict[str, Any]:
    """Return the document with the ids of existing objects, which the tool can't guess.

    Only parameters that are ids change. The rest stays as published.
    """
    components = schema["components"]["schemas"]
    known = {
        "token_id": there.token,
        "chain_id": there.chain,
        "recipient_address": there.recipient,
        "wallet_address": WALLET,
        "route_id": there.route,
    }
    for name in ("NewPaymentRequest", "RoutesOrder", "BuildOrder", "SubmittedTransaction", "SignedProof"):
        del components[name]["examples"]
        for field, part in components[name]["properties"].items():
            part.pop("examples", None)
            if field in known:
                part["enum"] = [known[field]]
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    parameter["schema"]["enum"] = [_name(path, parameter["name"], there)]
    return schema


def _name(path: str, variable: str, there: Objects) -> Any:
    if variable in ("payment_id", "chain_id"):
        return there.payment if variable == "payment_id" else there.chain
    if "/events/" in path:
        return there.event
    return there.delivery if "/deliveries/" in path else there.request


@pytest.mark.django_db(transaction=True)
def test_running_service_matches_its_description(
    tmp_path: Path,
    api_key: tuple[ApiKey, str],
    merchant: Merchant,
    usdc: Token,
    order: Callable[..., dict[str, Any]],
) -> None:
    there = prepare(api_key[1], merchant, usdc, order)
    service = Service(tmp_path / "web.log")
    try:
        schema = requests.get(service.url + "/api/schema", timeout=20).json()
        description = tmp_path / "schema.json"
        description.write_text(json.dumps(with_real_names(schema, there)))
        ran = subprocess.run(
            [
                sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIGURATION),
                "run", str(description), "--url", service.url, "-H", f"X-API-Key: {api_key[1]}",
                "--max-examples", EXAMPLES, "--no-color",
                "--report", "ndjson", "--report-dir", str(tmp_path / "report"),
            ],
            cwd=tmp_path, capture_output=True, text=True, timeout=3600, check=False,
        )  # fmt: skip
    finally:
        service.process.kill()
    assert ran.returncode == 0, ran.stdout[-20000:] + ran.stderr[-2000:]
    assert "No issues found" in ran.stdout, ran.stdout[-3000:]
    tested = re.search(r"Tested: (\d+)", ran.stdout)
    assert tested is not None
    assert int(tested[1]) == sum(len(operations) for operations in schema["paths"].values())
    assert "Traceback" not in (tmp_path / "web.log").read_text()
