"""The TypeScript client: its own tests, all of its calls to the running service, and the samples of its page."""

import re
import subprocess
from pathlib import Path

import requests

from demo.services import node
from demo.services.process import free_port
from merchants.models import ApiKey
from payments.models import PaymentRequest
from tests.integration.clients.typescript.conftest import PACKAGE, Program, Run
from tests.processes import eventually
from tests.support.docs.pages import samples
from tests.support.webhooks.delivering import deliver_next
from webhooks.endpoints.configuration import Change, configure
from webhooks.endpoints.secrets_at_rest import decrypt

README = PACKAGE / "README.md"


def delivering(program: Program) -> str:
    """Deliver due events, as a worker does, until the program ends; return its output."""

    def is_over() -> bool:
        deliver_next()
        return program.has_ended

    eventually(is_over, "the program ended", 60)
    return program.ended_well()


def test_own_tests_of_the_client_pass(package: Path) -> None:
    files = sorted(str(file) for file in (package / "test").glob("*.test.mjs"))
    assert len(files) >= 5
    done = subprocess.run(
        [str(node.node()), "--test", *files],
        cwd=package,
        env=node.environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE), done.stdout


def test_every_call_works_against_the_running_service(run: Run) -> None:
    program = run((Path(__file__).parent / "walk.mjs").read_text())
    assert delivering(program) == "walked\n"


def test_samples_of_the_page_create_and_receive_a_payment(
    run: Run, shop: dict[str, str], api_key: tuple[ApiKey, str]
) -> None:
    ask, receive, try_it, recover = samples(README, "js")
    port = free_port()
    configure(api_key[0].merchant, Change(url=f"http://127.0.0.1:{port}/"))
    secret = decrypt(api_key[0].merchant.webhook_endpoint.secret_encrypted)
    receiver = run(receive, PORT=str(port), WEBHOOK_SECRET=secret)
    asked = run(ask).ended_well()
    (request,) = PaymentRequest.objects.all()
    assert asked == f"{shop['QUITTANCE_BASE_URL']}/pay/{request.shortcode}\n"
    assert run(try_it).ended_well() == "completed: 12.500000\n"
    assert run(recover).ended_well().startswith("0x")
    eventually(lambda: _refuses(port), "the receiver listened")
    deliver_next()
    eventually(lambda: receiver.said == "order-1001 is paid\n", f"it was told; it said {receiver.said}")


def _refuses(port: int) -> bool:
    """Return whether the receiver runs and rejects unsigned deliveries."""
    try:
        answer = requests.post(f"http://127.0.0.1:{port}/", b"{}", timeout=5)
    except requests.RequestException:
        return False
    assert (answer.status_code, answer.text) == (400, "There is no Service-Signature header.")
    return True
