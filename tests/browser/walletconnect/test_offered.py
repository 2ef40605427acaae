"""With a project id, the page calls the relay after a customer chooses WalletConnect, and calls no other host."""

import json
from typing import Any

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import AddWallet, Create
from tests.browser.walletconnect.conftest import NAME, PROJECT, Connect, pairing_uri, send
from tests.chain import LocalChain
from tests.pictures import picture
from tests.support.walletconnect.phone import Phone
from tests.support.walletconnect.relay import Relay
from tests.support.wallets.stub import NAME as STUB

# The tag of a request to a wallet.
REQUEST_TAG = 1108
SCRIPT = "/static/checkout/walletconnect.js"


def watched(page: Page) -> list[str]:
    """Return a list that records the URLs of the browser's requests, with those of web sockets."""
    requested: list[str] = []
    page.context.on("request", lambda request: requested.append(request.url))
    page.on("websocket", lambda socket: requested.append(socket.url))
    return requested


def test_page_without_a_project_id_does_not_offer_it(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    requested = watched(page)
    add_wallet()
    page.goto(create()["payment_url"], wait_until="networkidle")
    expect(panel.locator(".wallet__name")).to_have_text([STUB])
    assert requested
    assert not [url for url in requested if "walletconnect" in url]


def test_walletconnect_comes_last_and_calls_nothing_unchosen(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, relay: Relay
) -> None:
    add_wallet()
    requested = watched(page)
    page.goto(create()["payment_url"], wait_until="networkidle")
    expect(panel.locator(".wallet__name")).to_have_text([STUB, NAME])
    expect(panel.get_by_role("button", name=NAME)).to_contain_text(
        "Scan a code with the wallet on your phone"
    )
    picture(page, "WalletConnect in the list of wallets")
    assert not [url for url in requested if SCRIPT in url]
    assert relay.connections == []


def test_paying_calls_only_the_service_and_the_relay(
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
    requested = watched(page)
    connect(create())
    panel.get_by_role("button", name="Pay 10.50 USDC").click()
    request = phone.expect("request")
    send(page, phone, request, local_chain)
    expect(panel.get_by_role("heading", name="Payment on its way")).to_be_visible()
    phone.expect("ended")
    others = [url for url in requested if not url.startswith((f"{service}/", "data:"))]
    assert {url.split("?")[0].rstrip("/") for url in others} == {relay.url}
    assert page.locator("iframe").count() == 0
    # The content security policy blocked nothing, and no script failed.
    assert troubles == []


def test_relay_learns_nothing_about_the_payment(
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
    published = [call for method, call in relay.calls if method == "irn_publish"]
    (call,) = [call for call in published if call["tag"] == REQUEST_TAG]
    assert set(call) == {"topic", "message", "ttl", "prompt", "tag", "tvf"}
    # By default, the library would also send the method, the network and the contract.
    assert set(call["tvf"]) == {"correlationId"}
    sent = json.dumps(relay.calls).lower()
    secrets = (local_chain.payer, local_chain.usdc, local_chain.recipient, "eth_sendtransaction", "eip155")
    assert not [secret for secret in secrets if secret.lower().removeprefix("0x") in sent]
    (page_, *_) = [one for one in relay.connections if one["origin"] == service]
    assert page_["projectId"] == PROJECT


def test_library_stores_its_data_in_this_tab_only(
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


def test_altered_walletconnect_script_does_not_run(
    page: Page, panel: Locator, create: Create, relay: Relay
) -> None:
    def altered(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=response.text() + "\n// altered")

    page.route(f"**{SCRIPT}", altered)
    page.goto(create()["payment_url"])
    panel.get_by_role("button", name=NAME).click()
    expect(panel.get_by_test_id("notice")).to_contain_text("Part of this page couldn’t be loaded")
    assert relay.connections == []


def test_code_requests_only_what_the_payment_needs(
    page: Page, panel: Locator, service: str, create: Create, phone: Phone, local_chain: LocalChain
) -> None:
    page.goto(create()["payment_url"])
    proposal = phone.scan(pairing_uri(panel))
    params = proposal["params"]
    assert params["requiredNamespaces"] == {}
    methods = [
        "eth_sendTransaction",
        "personal_sign",
        "eth_signTypedData_v4",
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
    # The page offers two icons; wallets show one of them.
    icons = [f"{service}/static/checkout/icon.{kind}" for kind in ("svg", "png")]
    assert params["proposer"]["metadata"]["icons"] == icons
