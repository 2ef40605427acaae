"""Links that open the checkout in the in-app browsers of well-known mobile wallets. Pure functions.

On a phone, the usual browser has no wallet, but wallet apps contain a browser. Each link is an https URL in the format
that the wallet documents. If the app is installed, the link opens the app.
"""

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

# Besides Solana, Phantom can pay on Ethereum, Polygon and Base.
_PHANTOM = (1, 137, 8453)
# The SLIP-44 coin type of each family in Trust Wallet's links.
_TRUST_COINS = {"evm": 60, "solana": 501}


@dataclass(frozen=True)
class WalletApp:
    """A wallet app's name, and the link that opens the page in its browser."""

    name: str
    url: str


def wallet_apps(url: str, chain_type: str, chain_id: int) -> list[WalletApp]:
    """Return the apps that can pay on this chain, with links to `url`.

    The apps open only https pages. For an http URL, as in a local deployment, the list is empty.
    """
    if urlsplit(url).scheme != "https":
        return []
    return [
        WalletApp(name, link(url, chain_type)) for name, fits, link in _APPS if fits(chain_type, chain_id)
    ]


def _on_evm(family: str, _: int) -> bool:
    return family == "evm"


def _on_both(family: str, _: int) -> bool:
    return family in _TRUST_COINS


def _phantom_fits(family: str, chain_id: int) -> bool:
    return family == "solana" or (family == "evm" and chain_id in _PHANTOM)


def _metamask(url: str, _: str) -> str:
    # MetaMask uses the rest of the link unchanged, so the URL isn't encoded, and has no scheme.
    return "https://link.metamask.io/dapp/" + url.removeprefix("https://")


def _trust(url: str, family: str) -> str:
    return f"https://link.trustwallet.com/open_url?coin_id={_TRUST_COINS[family]}&url={_encoded(url)}"


def _base(url: str, _: str) -> str:
    return f"https://go.cb-w.com/dapp?cb_url={_encoded(url)}"


def _phantom(url: str, _: str) -> str:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return f"https://phantom.app/ul/browse/{_encoded(url)}?ref={_encoded(origin)}"


def _okx(url: str, _: str) -> str:
    deep = f"okx://wallet/dapp/url?dappUrl={_encoded(url)}"
    return f"https://web3.okx.com/download?deeplink={_encoded(deep)}"


def _encoded(text: str) -> str:
    return quote(text, safe="")


_APPS: tuple[tuple[str, Callable[[str, int], bool], Callable[[str, str], str]], ...] = (
    ("MetaMask", _on_evm, _metamask),
    ("Phantom", _phantom_fits, _phantom),
    ("Base (Coinbase Wallet)", _on_evm, _base),
    ("Trust Wallet", _on_both, _trust),
    ("OKX Wallet", _on_both, _okx),
)
