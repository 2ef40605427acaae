"""Texts of merchants, wallets, catalogues and providers never run as code."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from payments.submission.hashes import submit_hash
from tests.support.embedding.wallets import announce
from tests.support.payments.rows import change

Create = Callable[..., dict[str, Any]]
RUN = "window.ran=1"
ATTACKS = [
    f"</script><script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><svg onload={RUN}><a id="panel">',
    f"' autofocus onfocus={RUN} x='",
    "<!--<script>",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"javascript:{RUN}//",
    f"</title></style></textarea><iframe srcdoc='<script>parent.{RUN}</script>'>",
    f"<base href=//evil.example><form action=javascript:{RUN}><button id=own-tab>",
    "\\u003cscript\\u003e \\x3c/script>${alert(1)}",
]
ICONS = [
    f"javascript:{RUN}",
    f"data:text/html,<script>parent.{RUN}</script>",
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' "
    f"onload='parent.{RUN}'><script>parent.{RUN}</script></svg>",
    f'data:image/png,x" onerror="{RUN}',
    f"data:image/svg+xml;base64,x'><script>{RUN}</script>",
]
SINKS = [
    "document.body.innerHTML = '<b>x</b>'",
    "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
    "document.write('<b>x</b>')",
    "document.createElement('iframe').srcdoc = '<b>x</b>'",
    "document.createElement('script').src = '/static/checkout/solana.js'",
    "setTimeout('window.ran = 1')",
    "new Function('window.ran = 1')()",
    "eval('window.ran = 1')",
]
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => { window.ran = 1; };
"""
# Elements that the product's pages don't use. They would run if a text were parsed as markup.
STRANGE = (
    "iframe, object, embed, base, [onerror], [onload], [onfocus], [autofocus], main script, form[action*=':']"
)
# Counts blocked scripts, from the first element of the page's head.
FOREIGN_SCRIPT = (
    "script:not([type='application/json'], [type='importmap'], [src^='/static/checkout/'],"
    " head > script:first-child)"
)


@pytest.fixture
def watched(page: Page) -> Page:
    page.add_init_script(WATCH)
    return page


def assert_nothing_ran(page: Page) -> None:
    assert page.evaluate("window.ran") is None
    assert page.evaluate("violations") == []
    assert page.locator(STRANGE).count() == 0
    assert page.locator(FOREIGN_SCRIPT).count() == 0
    links = page.evaluate("[...document.links].map((link) => link.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}


def store(request: dict[str, Any], attack: str) -> None:
    """Store `attack` in each field that a merchant, an operator or a provider can set."""
    Merchant.objects.update(display_name=attack[:100])
    Token.objects.filter(pk=request["token"]["id"]).update(name=attack[:80], symbol=attack[:20])
    Chain.objects.filter(pk=request["chain_id"]).update(name=attack[:80], native_symbol=attack[:16])
    PaymentRequest.objects.filter(pk=request["id"]).update(description=attack)
    change(Payment.objects, status="failed", status_detail=attack, provider_status=attack[:64])


def test_hostile_text_in_every_field_runs_nothing(watched: Page, create: Create, chain: Chain) -> None:
    request = create()
    found = PaymentRequest.objects.get(pk=request["id"])
    submit_hash(found, chain=chain, transaction_hash="0x" + "12" * 32, actor="checkout")
    Payment.objects.update(failure_code="transaction_reverted")
    for attack in ATTACKS:
        announce(watched, attack, ICONS[0])
        PaymentRequest.objects.filter(pk=request["id"]).update(status="active", amount_paid=0)
        store(request, attack)
        watched.goto(request["payment_url"])
        expect(watched.locator(".description")).to_have_text(attack.strip())
        expect(watched.locator("#panel .wallet").first).to_be_visible()
        expect(watched.locator("#panel")).to_contain_text("12121212")
        assert_nothing_ran(watched)
        PaymentRequest.objects.filter(pk=request["id"]).update(status="completed", amount_paid=10_500_000)
        watched.evaluate("dispatchEvent(new Event('online'))")
        expect(watched.locator("#checkout")).to_have_attribute("data-state", "completed")
        assert_nothing_ran(watched)


def test_hostile_wallet_icon_runs_nothing(watched: Page, create: Create) -> None:
    for number, icon in enumerate(ICONS):
        announce(watched, f"Wallet {number}", icon)
    watched.goto(create()["payment_url"])
    expect(watched.locator("#panel .wallet")).to_have_count(len(ICONS))
    watched.wait_for_load_state("networkidle")
    assert_nothing_ran(watched)


def test_hostile_name_of_a_connecting_wallet_runs_nothing(watched: Page, create: Create) -> None:
    for attack in ATTACKS[:3]:
        announce(watched, attack, "")
    watched.goto(create()["payment_url"])
    watched.locator("#panel .wallet").first.click()
    expect(watched.locator("#checkout")).to_have_attribute("data-screen", "connecting")
    assert_nothing_ran(watched)


def test_hostile_query_and_fragment_run_nothing(watched: Page, create: Create) -> None:
    url = create()["payment_url"]
    for attack in ATTACKS[:4]:
        watched.goto(f"{url}?lang={attack}&q={attack}#{attack}")
        expect(watched.locator("#panel h2")).to_be_visible()
        assert_nothing_ran(watched)


def test_policy_keeps_text_from_becoming_a_script(watched: Page, create: Create) -> None:
    watched.goto(create()["payment_url"])
    for sink in SINKS:
        # Run in a task of the page: the content security policy doesn't apply to code from developer tools.
        try_it = f"try {{ {sink}; done(''); }} catch (error) {{ done(error.name); }}"
        error = watched.evaluate(f"new Promise((done) => setTimeout(() => {{ {try_it} }}))")
        assert error in ("TypeError", "EvalError"), sink
    assert watched.evaluate("window.ran") is None
