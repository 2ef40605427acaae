"""Samples for receivers, in five languages, accept what the product signs and reject everything else.

A language that this machine lacks is skipped.
"""

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.docs.pages import REPOSITORY, samples
from webhooks.dispatch.signing import sign
from webhooks.dispatch.testing import example_object
from webhooks.event_types import EventType
from webhooks.events import envelope

PAGE = REPOSITORY / "docs" / "receiving-webhooks.md"
SAMPLES = REPOSITORY / "docs" / "receiving-webhooks"
DRIVERS = Path(__file__).parent / "receivers"

SECRET = "whsec_" + "a" * 32
OTHER = "whsec_" + "b" * 32
NOW = 1_795_267_250
LARGEST = 2**256 - 1


def _body(reference: str = "order-1001", amount: int = 12_500_000) -> bytes:
    about = example_object(EventType.PAYMENT_SUCCEEDED)
    about |= {"reference": reference, "amount": amount, "metadata": {"note": reference}}
    about["amount_details"] = {**about["amount_details"], "raw": str(amount)}
    return envelope("evt_" + "1" * 24, "payment.succeeded", datetime.fromtimestamp(NOW, UTC), about)


BODY = _body()
UNICODE = _body(reference="Żółw №7 – 咖啡 ☕ \u2028 \\u0041")
HUGE = _body(amount=LARGEST)
GOOD = sign([SECRET], NOW, BODY)
DIGEST = GOOD.partition("v1=")[2]


def _signed_at(timestamp: str) -> str:
    """Return a header with a valid signature for a timestamp format that the product never writes."""
    digest = hmac.new(SECRET.encode(), f"{timestamp}.".encode() + BODY, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"


@dataclass(frozen=True)
class Case:
    header: str | bytes | None = GOOD
    body: bytes = BODY
    secret: str = SECRET
    now: int = NOW


TAKEN = {
    "signed now": Case(),
    "signed by both secrets, ours the new one": Case(sign([SECRET, OTHER], NOW, BODY)),
    "signed by both secrets, ours the former one": Case(sign([OTHER, SECRET], NOW, BODY)),
    "a scheme that is not known yet, beside ours": Case(f"{GOOD},v2={'f' * 128}"),
    "300 seconds old": Case(now=NOW + 300),
    "300 seconds ahead": Case(now=NOW - 300),
    "every script": Case(sign([SECRET], NOW, UNICODE), UNICODE),
    "an amount of 2^256 - 1": Case(sign([SECRET], NOW, HUGE), HUGE),
}
REFUSED = {
    "wrong secret": Case(secret=OTHER),
    "signed by two other secrets": Case(sign([OTHER, OTHER[::-1]], NOW, BODY)),
    "a digit of the body changed": Case(body=BODY.replace(b"12500000", b"12500001", 1)),
    "the body parsed and printed again": Case(body=json.dumps(json.loads(BODY)).encode()),
    "a newline after the body": Case(body=BODY + b"\n"),
    "empty body": Case(body=b""),
    "another timestamp": Case(GOOD.replace(str(NOW), str(NOW + 1))),
    "too old": Case(now=NOW + 301),
    "too new": Case(now=NOW - 301),
    "no header": Case(None),
    "empty header": Case(""),
    "garbage": Case("garbage"),
    "separators": Case(",=,,==,"),
    "bytes that are no text": Case(b"t=\xff\xfe,v1=\x80"),
    "bytes that are no text in the signature": Case(f"t={NOW},v1=".encode() + b"\xff" * 64),
    "no signature": Case(f"t={NOW}"),
    "empty signature": Case(f"t={NOW},v1="),
    "no timestamp": Case(f"v1={DIGEST}"),
    "empty timestamp": Case(f"t=,v1={DIGEST}"),
    "timestamp in words": Case(f"t=now,v1={DIGEST}"),
    "timestamp with a sign": Case(f"t=+{NOW},v1={DIGEST}"),
    "timestamp with a line feed": Case(f"t={NOW}\n,v1={DIGEST}"),
    "timestamp in words, and signed": Case(_signed_at("now")),
    "timestamp with a sign, and signed": Case(_signed_at(f"+{NOW}")),
    "timestamp with a line feed, and signed": Case(_signed_at(f"{NOW}\n")),
    "timestamp of a thousand digits": Case(f"t={'9' * 1000},v1={DIGEST}"),
    "upper-case hex": Case(f"t={NOW},v1={DIGEST.upper()}"),
    "half of the signature": Case(GOOD[:-32]),
    "more after the signature": Case(GOOD + "=0"),
    "another scheme only": Case(GOOD.replace("v1=", "v0=")),
}
CASES = {**TAKEN, **REFUSED, "signed with no secret at all": Case(sign([""], NOW, BODY), secret="")}


@dataclass(frozen=True)
class Language:
    """The program that a language needs, and the command that runs a sample on standard input."""

    suffix: str
    fence: str
    program: str
    command: Callable[[str, Path], list[str]]


def _driven(program: str, suffix: str) -> list[str]:
    return [program, str(DRIVERS / f"drive.{suffix}"), str(SAMPLES / f"verify.{suffix}")]


def _built_go(program: str, folder: Path) -> list[str]:
    """Build the sample as a package with its driver; return the command."""
    (folder / "webhooks").mkdir()
    shutil.copy(SAMPLES / "verify.go", folder / "webhooks")
    shutil.copy(DRIVERS / "drive.go", folder / "main.go")
    (folder / "go.mod").write_text("module receiver\n\ngo 1.18\n")
    offline = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
    subprocess.run(
        [program, "build", "-o", "receiver", "."], cwd=folder, env=offline, check=True, timeout=600
    )
    return [str(folder / "receiver")]


LANGUAGES = {
    "Python": Language("py", "python", sys.executable, lambda program, _: _driven(program, "py")),
    "Node": Language("mjs", "js", "node", lambda program, _: _driven(program, "mjs")),
    "PHP": Language("php", "php", "php", lambda program, _: _driven(program, "php")),
    "Go": Language("go", "go", "go", _built_go),
    "Ruby": Language("rb", "ruby", "ruby", lambda program, _: _driven(program, "rb")),
}


def verdicts(name: str, folder: Path) -> dict[str, Any]:
    """Run a language's sample; return its result for each case."""
    language = LANGUAGES[name]
    program = shutil.which(language.program)
    if program is None:
        pytest.skip(f"{name} is not on this machine.")
    done = subprocess.run(
        language.command(program, folder),
        input=json.dumps([_as_json(case) for case in CASES.values()]),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(zip(CASES, json.loads(done.stdout), strict=True))


def _as_json(case: Case) -> dict[str, Any]:
    header = case.header.encode() if isinstance(case.header, str) else case.header
    return {
        "header": None if header is None else base64.b64encode(header).decode(),
        "body": base64.b64encode(case.body).decode(),
        "secret": case.secret,
        "now": case.now,
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_sample_accepts_only_what_the_service_signed(language: str, tmp_path: Path) -> None:
    expected: dict[str, Any] = dict.fromkeys(REFUSED, "refused")
    for name, case in TAKEN.items():
        event = json.loads(case.body)
        about = event["data"]["object"]
        assert about["amount_details"]["raw"] == str(about["amount"])
        expected[name] = [event["id"], event["type"], about["reference"], about["amount_details"]["raw"]]
    expected["signed with no secret at all"] = "no secret"
    assert verdicts(language, tmp_path) == expected


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_page_shows_the_sample_as_it_is(language: Language) -> None:
    assert (SAMPLES / f"verify.{language.suffix}").read_text() in samples(PAGE, language.fence)


def test_every_sample_of_the_page_is_run() -> None:
    assert {file.name for file in SAMPLES.glob("verify.*")} == {
        f"verify.{language.suffix}" for language in LANGUAGES.values()
    }
