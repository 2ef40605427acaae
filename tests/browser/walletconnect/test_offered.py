"""With a project id, a customer who chooses WalletConnect reaches the relay through the page, and nobody else."""

import json
import re
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

from checkout.integrity import integrity
from payments.models import PaymentRequest
from tests.browser.conftest import AddWallet, Create
from tests.browser.walletconnect.conftest import NAME, PROJECT, Connect, pairing_uri, send
from tests.chain import LocalChain
from tests.conftest import Api
from tests.pictures import picture
from tests.support.walletconnect.phone import Phone
from tests.support.walletconnect.relay import Relay
from tests.support.wallets.stub import NAME as STUB

# Of a question to a wallet.
REQUEST_TAG = 1108
SCRIPT = "/static/checkout/walletconnect.js"


def watched(page: Page) -> list[str]:
    """Return the list of all that the browser asks for from now on, web sockets included."""
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    return asked


def test_the_policy_names_the_relay_and_the_import_map_the_scripts_digest(
    public: Api, create: Create, relay: Relay
) -> None:
    answer = public.get(f"/pay/{create()['shortcode']}")
    assert f"; connect-src 'self' {relay.url}; " in answer["Content-Security-Policy"]
    (told,) = re.findall(r'type="importmap">(.+?)</script>', answer.content.decode())
    assert json.loads(told)["integrity"][SCRIPT] == integrity("checkout/walletconnect.js")


def test_a_request_that_has_ended_and_its_other_pages_may_not_call_the_relay(
    public: Api, create: Create, relay: Relay
) -> None:
    request = create()
    for path in (f"/pay/{request['shortcode']}/by-hand", "/"):
        assert relay.url not in public.get(path)["Content-Security-Policy"]
    PaymentRequest.objects.update(status="cancelled")
    answer = public.get(f"/pay/{request['shortcode']}")
    assert relay.url not in answer["Content-Security-Policy"]
    assert b"data-walletconnect" not in answer.content


def test_it_comes_after_the_wallets_of_this_browser_and_nothing_is_contacted_before_it_is_chosen(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, relay: Relay
) -> None:
    add_wallet()
    asked = watched(page)
    page.goto(create()["payment_url"], wait_until="networkidle")
    expect(panel.locator(".wallet__name")).to_have_text([STUB, NAME])
    expect(panel.get_by_role("button", name=NAME)).to_contain_text(
        "Scan a code with the wallet on your phone"
    )
    picture(page, "WalletConnect in the list of wallets")
    assert not [url for url in asked if SCRIPT in url]
    assert relay.connections == []


def test_paying_contacts_the_service_and_the_relay_and_nobody_else(
    page: Page,
    panel: Locator,
    service: str,
    create: Create,
    connect: Connect,
    phone: Phone,
    relay: Relay,
    local_chain: LocalChain,
    troubles: list[str],
) -> None:
    asked = watched(page)
    connect(create())
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    request = phone.expect("request")
    send(page, phone, request, local_chain)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    phone.expect("ended")
    others = [url for url in asked if not url.startswith((f"{service}/", "data:"))]
    assert {url.split("?")[0].rstrip("/") for url in others} == {relay.url}
    assert page.locator("iframe").count() == 0
    # The content security policy refused nothing, and no script complained.
    assert troubles == []


def test_the_relay_is_told_what_it_needs_and_nothing_of_the_payment(
    page: Page,
    panel: Locator,
    service: str,
    create: Create,
    connect: Connect,
    phone: Phone,
    relay: Relay,
    local_chain: LocalChain,
) -> None:
    connect(create())
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    phone.expect("request")
    published = [told for method, told in relay.calls if method == "irn_publish"]
    (told,) = [told for told in published if told["tag"] == REQUEST_TAG]
    assert set(told) == {"topic", "message", "ttl", "prompt", "tag", "tvf"}
    # Without our own hand in it, the library would tell method, network and contract here.
    assert set(told["tvf"]) == {"correlationId"}
    said = json.dumps(relay.calls).lower()
    secrets = (local_chain.payer, local_chain.usdc, local_chain.recipient, "eth_sendtransaction", "eip155")
    assert not [secret for secret in secrets if secret.lower().removeprefix("0x") in said]
    (page_, *_) = [one for one in relay.connections if one["origin"] == service]
    assert page_["projectId"] == PROJECT


def test_what_the_library_keeps_is_in_this_tab_alone(
    page: Page, panel: Locator, create: Create, connect: Connect
) -> None:
    connect(create())
    expect(panel.get_by_role("button", name="Pay 10.50 USDC")).to_be_visible()
    kept: dict[str, Any] = page.evaluate(
        "async () => ({ local: Object.keys(localStorage), databases: (await indexedDB.databases()).length, "
        "cookies: document.cookie, tab: Object.keys(sessionStorage).join() })"
    )
    assert "quittance:walletconnect:" in kept.pop("tab")
    assert [key for key in kept.pop("local") if not key.startswith("quittance:")] == []
    assert kept == {"databases": 0, "cookies": ""}


def test_a_script_that_was_altered_is_not_run(
    page: Page, panel: Locator, create: Create, relay: Relay
) -> None:
    def altered(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text() + "\n// altered")

    page.route(f"**{SCRIPT}", altered)
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Part of this page couldn’t be loaded")
    assert relay.connections == []


def test_a_code_asks_for_the_networks_of_this_payment_and_what_it_needs_there(
    page: Page, panel: Locator, service: str, create: Create, phone: Phone, local_chain: LocalChain
) -> None:
    page.goto(create()["payment_url"])
    proposal = phone.scan(pairing_uri(panel))
    params = proposal["params"]
    assert params["requiredNamespaces"] == {}
    methods = [
        "eth_sendTransaction",
        "personal_sign",
        "wallet_switchEthereumChain",
        "wallet_addEthereumChain",
    ]
    assert params["optionalNamespaces"] == {
        "eip155": {
            "chains": [f"eip155:{local_chain.chain_id}"],
            "methods": methods,
            "events": ["accountsChanged", "chainChanged"],
        }
    }
    assert params["proposer"]["metadata"]["url"] == service
    # Wallets show one of them: both are the page's own.
    icons = [f"{service}/static/checkout/icon.{kind}" for kind in ("svg", "png")]
    assert params["proposer"]["metadata"]["icons"] == icons
