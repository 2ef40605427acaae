"""`deploy/report-failure.sh` sends one message about a failed unit. It never shows the key in its URL."""

import json
import os
import subprocess

from demo.services.process import REPOSITORY
from tests.loopback import scripted

SCRIPT = REPOSITORY / "deploy/report-failure.sh"


def report(**environment: str) -> "subprocess.CompletedProcess[str]":
    settings = {"PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        [str(SCRIPT), "quittance-backup.service"], env=settings, capture_output=True, text=True, timeout=300
    )


def test_failed_unit_is_sent_to_the_chat() -> None:
    with scripted(lambda exchange: exchange.reply({}), path="/hooks/a-key") as chat:
        done = report(FAILURE_URL=chat.url)
    assert done.returncode == 0, done.stderr
    (request,) = chat.heard
    assert request.path == "/hooks/a-key"
    assert json.loads(request.body)["text"].startswith("quittance-backup.service failed on ")
    assert "a-key" not in done.stderr
    assert '"$FAILURE_URL"' not in SCRIPT.read_text().partition("curl")[2]


def test_failed_unit_without_address_is_written_to_the_journal() -> None:
    done = report()
    assert (done.returncode, done.stdout) == (0, "")
    assert "quittance-backup.service failed on" in done.stderr
