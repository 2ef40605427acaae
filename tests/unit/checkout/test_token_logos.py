"""Our own URL serves a token's logo. Only tokens of the catalogue have one."""

import json
import re
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from chains.models import LISTED, Token
from checkout.logos import token_logo_url
from checkout.own_logos import _CHAINS, _TOKENS, own_chain_logo
from checkout.tasks import fetch_tokens_logo
from payments.providers import token_list
from payments.providers.base import ListedToken
from tests.processes import REPOSITORY
from tests.support.webhooks.receiver import Receiver, answer, running_receiver
from tests.unit.checkout.test_logos import PNG

pytestmark = pytest.mark.django_db


@pytest.fixture
def host() -> Iterator[Receiver]:
    with running_receiver() as running:
        running.answers = [answer(200, PNG)]
        yield running


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch, usdc: Token, host: Receiver) -> ListedToken:
    """A token without our logo. The provider's list names a logo for it."""
    cache.clear()
    usdc.symbol = "LINK"
    usdc.save()
    entry = ListedToken(usdc.chain_id, usdc.contract_address, "USDC", "USD Coin", 6, None, host.url)
    there = (entry.chain_id, entry.token)
    monkeypatch.setattr(token_list, "listed_token", lambda *place: entry if place == there else None)
    return entry


def test_once_fetched_it_is_served_from_here(
    client: Client, usdc: Token, listed: ListedToken, host: Receiver
) -> None:
    url = token_logo_url(usdc, listed)
    assert url is not None
    assert host.url not in url
    path = url.split("/", 3)[3]
    before = client.get(f"/{path}")
    assert (before.status_code, before["Cache-Control"]) == (404, "public, max-age=30")
    assert host.received == []

    assert fetch_tokens_logo(str(usdc.pk))
    image = client.get(f"/{path}")
    assert (image.content, image["Content-Type"]) == (PNG, "image/png")
    assert image["Content-Security-Policy"].endswith("sandbox")
    assert len(host.received) == 1


def test_usual_token_of_the_catalogue_has_our_own_logo(usdc: Token) -> None:
    url = token_logo_url(usdc, None)
    assert url is not None
    assert url.endswith("/static/checkout/logos/usdc.svg")
    usdc.symbol = "USDС"  # the last letter is Cyrillic
    assert token_logo_url(usdc, None) is None


def test_same_symbol_outside_the_catalogue_has_no_logo(usdc: Token) -> None:
    usdc.is_active, usdc.tags = False, [LISTED]
    assert token_logo_url(usdc, None) is None


def test_shipped_chains_and_their_coins_have_our_own_logo() -> None:
    for name in ("mainnet", "testnet"):
        for chain in json.loads((REPOSITORY / f"chains/catalogues/{name}.json").read_text())["chains"]:
            coin = Token(chain_id=chain["id"], symbol=chain["native_symbol"], is_active=True)
            for url in (own_chain_logo(chain["id"]), token_logo_url(coin, None)):
                assert url is not None, chain["name"]
                drawing = (REPOSITORY / "checkout" / url.split("/", 3)[3]).read_text()
                assert drawing.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert own_chain_logo(31337) is None


def test_drawings_are_small_and_run_nothing() -> None:
    files = sorted((REPOSITORY / "checkout/static/checkout/logos").iterdir())
    assert {f"{name}.svg" for name in _TOKENS.values()} | {
        f"chain-{name}.svg" for name in _CHAINS.values()
    } == {file.name for file in files}
    for file in files:
        drawing = file.read_text()
        assert len(drawing) < 700, file
        assert not re.search(r"script|href|url\(|on\w+=", drawing), file


def test_a_token_outside_the_catalogue_has_none(client: Client, usdc: Token, listed: ListedToken) -> None:
    usdc.is_active, usdc.tags = False, [LISTED]
    assert token_logo_url(usdc, listed) is None
    for address in ("coin", "0x" + "12" * 20, "../../etc/passwd"):
        assert client.get(f"/logos/{usdc.chain_id}/{address}").status_code == 404
    assert client.get(f"/logos/9{usdc.chain_id}/{usdc.contract_address}").status_code == 404


def test_a_token_that_is_switched_off_is_not_fetched_for(
    client: Client, usdc: Token, listed: ListedToken
) -> None:
    assert fetch_tokens_logo(str(usdc.pk))
    Token.objects.filter(pk=usdc.pk).update(is_active=False)
    assert client.get(f"/logos/{usdc.chain_id}/{usdc.contract_address}").status_code == 404
