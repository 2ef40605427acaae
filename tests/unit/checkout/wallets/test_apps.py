"""Links that open the payment page in a wallet app's own browser."""

from checkout.wallets.apps import wallet_apps

URL = "https://pay.example.com/pay/Ab3dEf6hJk9m"
ENCODED = "https%3A%2F%2Fpay.example.com%2Fpay%2FAb3dEf6hJk9m"


def test_each_wallet_app_has_a_link_in_its_own_form() -> None:
    assert {app.name: app.url for app in wallet_apps(URL, "evm", 8453)} == {
        "MetaMask": "https://link.metamask.io/dapp/pay.example.com/pay/Ab3dEf6hJk9m",
        "Phantom": f"https://phantom.app/ul/browse/{ENCODED}?ref=https%3A%2F%2Fpay.example.com",
        "Base (Coinbase Wallet)": f"https://go.cb-w.com/dapp?cb_url={ENCODED}",
        "Trust Wallet": f"https://link.trustwallet.com/open_url?coin_id=60&url={ENCODED}",
        "OKX Wallet": "https://web3.okx.com/download?deeplink=okx%3A%2F%2Fwallet%2Fdapp%2Furl%3FdappUrl%3D"
        + ENCODED.replace("%", "%25"),
    }


def test_only_apps_that_support_the_chain_are_linked() -> None:
    on_solana = wallet_apps(URL, "solana", 1151111081099710)
    assert [app.name for app in on_solana] == ["Phantom", "Trust Wallet", "OKX Wallet"]
    assert "coin_id=501" in on_solana[1].url
    assert "Phantom" not in [app.name for app in wallet_apps(URL, "evm", 42161)]


def test_page_on_a_loopback_address_has_no_app_links() -> None:
    assert wallet_apps("http://127.0.0.1:8000/pay/Ab3dEf6hJk9m", "evm", 1) == []
