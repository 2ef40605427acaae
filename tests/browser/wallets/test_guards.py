"""The page checks the server's transactions, approvals, offers and proofs before it passes them to the wallet."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from payments.models import PayerProof, Payment
from tests.browser.conftest import AddSolanaWallet, AddWallet, Create
from tests.browser.wallets.connecting.test_permissions import order_there as order_there
from tests.browser.wallets.connecting.test_permissions import review_swap
from tests.browser.wallets.steps import SENT, review, send
from tests.browser.wallets.test_proof_by_hand import signed
from tests.chain import LocalChain
from tests.conftest import Api
from tests.pictures import picture
from tests.support.wallets.stub import LATER

STRANGER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
MISMATCH = "doesn’t match what you reviewed"


def _alter(page: Page, path: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the server's responses at this path before the page receives them."""

    def handle(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        change(body)
        route.fulfill(response=response, json=body)

    page.route(path, handle)


def _other_contract(built: dict[str, Any]) -> None:
    built["transaction"]["to"] = STRANGER


def _other_spender(approval: dict[str, Any]) -> None:
    data = approval["transactions"][0]["data"]
    approval["spender"] = STRANGER
    approval["transactions"][0]["data"] = data[:34] + STRANGER[2:].lower() + data[74:]


@pytest.mark.parametrize(
    ("symbol", "path", "change"),
    [("ETH", "**/build-transaction", _other_contract), ("DAI", "**/check-approval", _other_spender)],
    ids=["transaction", "permission"],
)
def test_altered_transaction_never_reaches_the_wallet(
    page: Page,
    panel: Locator,
    order_there: dict[str, Any],
    add_wallet: AddWallet,
    symbol: str,
    path: str,
    change: Callable[[dict[str, Any]], None],
) -> None:
    wallet = add_wallet()
    _alter(page, path, change)
    review_swap(page, panel, order_there, symbol).click()
    expect(panel.get_by_test_id("notice")).to_contain_text(MISMATCH)
    picture(page, "review, rejected by the page")
    assert wallet.asked(SENT) == []
    assert not Payment.objects.exists()


def test_altered_solana_transaction_never_reaches_the_wallet(
    page: Page,
    panel: Locator,
    public: Api,
    create_on_solana: Create,
    add_solana_wallet: AddSolanaWallet,
) -> None:
    wallet = add_solana_wallet()
    other = create_on_solana(amount="10.51")
    url = f"/api/public/payment-requests/{other['id']}/routes"
    body = {"chain_id": other["chain_id"], "token_id": other["token"]["id"]}
    pay = review(page, panel, create_on_solana())
    expect(pay).to_be_visible()
    address = page.evaluate("key => window.stubs[key].state.accounts[0]", wallet.key)
    route = public.post(url, {"wallet_address": address, **body}).json()["routes"][0]
    built = public.post("/api/public/build-transaction", {"route_id": route["id"]}).json()
    _alter(page, "**/build-transaction", lambda mine: mine.update(transaction=built["transaction"]))
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text(MISMATCH)
    assert wallet.asked("signAndSendTransaction") == []


def test_expired_offer_is_reviewed_again_before_signing(
    page: Page, panel: Locator, order_there: dict[str, Any], add_wallet: AddWallet
) -> None:
    wallet = add_wallet()
    error = {"code": "route_expired", "message": "The price has moved.", "request_id": "req_7"}
    page.route(
        "**/build-transaction", lambda route: route.fulfill(status=409, json={"error": error}), times=1
    )
    pay = review_swap(page, panel, order_there, "ETH")
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("The last offer has expired. This is a new one")
    picture(page, "review, price changed")
    assert wallet.asked(SENT) == []
    send(page, pay)


def test_rejected_proof_returns_to_review_and_sends_nothing(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet
) -> None:
    wallet = add_wallet(answers={"personal_sign": [{"gives": "0x" + "1b" * 65}]})
    pay = review(page, panel, create(references=False))
    pay.click()
    expect(panel.get_by_test_id("notice")).to_contain_text("does not match this wallet")
    expect(pay).to_be_visible()
    assert wallet.asked(SENT) == []
    assert not PayerProof.objects.exists()


def test_proof_is_signed_once_although_the_node_is_busy(
    page: Page, panel: Locator, create: Create, add_wallet: AddWallet, local_chain: LocalChain
) -> None:
    wallet = add_wallet(answers={"personal_sign": [LATER]})
    error = {"code": "node_unavailable", "message": "Try again.", "request_id": "req_7"}
    busy = {"status": 503, "json": {"error": error}, "headers": {"Retry-After": "1"}}
    page.route("**/payer-proof", lambda route: route.fulfill(**busy), times=1)
    review(page, panel, create(references=False)).click()
    expect(panel).to_have_attribute("data-screen", "proving")
    with page.expect_response("**/payments") as submitted:
        wallet.answer(signed(local_chain)["gives"])
    assert submitted.value.status == 201
    assert len(wallet.asked("personal_sign")) == 1
