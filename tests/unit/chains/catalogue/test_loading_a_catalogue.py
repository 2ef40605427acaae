"""A catalogue file is loaded completely or not at all. Loading it again changes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from chains.facts.authorizations import TokenDomain
from chains.families import node_urls, socket_urls
from chains.models import Chain, Token
from tests.conftest import Api
from tests.support.chains.catalogue_files import USDC_ON_BASE, chain, everything, load, token, write

pytestmark = pytest.mark.django_db


def test_a_file_becomes_chains_and_tokens(tmp_path: Path) -> None:
    said = load(
        write(
            tmp_path,
            [
                chain(),
                chain(
                    id=10, name="OP Mainnet", confirmations="finalized", confirmations_fallback=256, tokens=[]
                ),
            ],
        )
    )
    assert said == "2 chains and 2 tokens loaded.\n"
    base = Chain.objects.get(pk=8453)
    assert (base.name, base.confirmations, base.block_time_ms, base.network) == ("Base", "5", 2000, "")
    assert base.routers == {"lifi": ["0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"]}
    assert base.confirmations_fallback is None
    optimism = Chain.objects.get(pk=10)
    assert (optimism.confirmations, optimism.confirmations_fallback) == ("finalized", 256)
    usdc, ether = Token.objects.order_by("id")
    assert (usdc.contract_address, usdc.decimals, usdc.trailing_data, usdc.tags) == (
        USDC_ON_BASE,
        6,
        True,
        [],
    )
    assert ether.is_native


def test_sockets_for_new_blocks_are_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(write(tmp_path, [chain()]))
    assert Chain.objects.get().ws_urls == []
    load(write(tmp_path, [chain(ws_urls=["env:BASE_WS_URL", "wss://node.example/v2"])]))
    stored = Chain.objects.get()
    assert socket_urls(stored.ws_urls) == ("wss://node.example/v2",)
    monkeypatch.setenv("BASE_WS_URL", "ws://127.0.0.1:8546")
    assert socket_urls(stored.ws_urls) == ("ws://127.0.0.1:8546", "wss://node.example/v2")


def test_price_feeds_and_what_prices_a_token_are_optional(tmp_path: Path) -> None:
    load(write(tmp_path, [chain()]))
    assert Chain.objects.get().feeds == []
    assert set(Token.objects.values_list("price_as", flat=True)) == {""}
    feed = {"pair": "ETH/USD", "address": USDC_ON_BASE.lower(), "heartbeat": 3600}
    load(write(tmp_path, [chain(feeds=[feed], tokens=[token(price_as="USDC")])]))
    assert Chain.objects.get().feeds == [{**feed, "address": USDC_ON_BASE}]
    assert Token.objects.get(contract_address=USDC_ON_BASE).price_as == "USDC"


def test_authorization_is_optional_and_names_its_domain(tmp_path: Path) -> None:
    load(write(tmp_path, [chain()]))
    assert [each.authorization_domain for each in Token.objects.all()] == [None, None]
    rules = {"type": "eip3009", "name": "USD Coin", "version": "2"}
    load(write(tmp_path, [chain(tokens=[token(authorization=rules)])]))
    usdc = Token.objects.get(contract_address=USDC_ON_BASE)
    assert usdc.authorization == rules
    assert usdc.authorization_domain == TokenDomain(8453, USDC_ON_BASE, "USD Coin", "2")
    load(write(tmp_path, [chain()]))
    usdc.refresh_from_db()
    assert usdc.authorization is None


def solana(**fields: Any) -> dict[str, Any]:
    """Return a chain whose only token has these fields."""
    mint = token(**{"contract_address": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", **fields})
    return chain(chain_type="solana", confirmations="finalized", routers={}, tokens=[mint])


def test_authorization_on_solana_has_only_a_type(tmp_path: Path) -> None:
    load(write(tmp_path, [solana(authorization={"type": "solana"})]))
    usdc = Token.objects.get()
    assert (usdc.authorization, usdc.authorization_domain) == ({"type": "solana"}, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"authorization": {"type": "eip3009"}},
        {"authorization": {"type": "solana", "name": "USD Coin"}},
        {"authorization": {"type": "solana"}, "contract_address": ""},
    ],
)
def test_other_authorizations_on_solana_are_rejected(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(CommandError, match="authorization"):
        load(write(tmp_path, [solana(**wrong)]))
    assert not Token.objects.exists()


def test_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, [chain()])
    load(path)
    before = everything()
    assert load(path) == "1 chains and 2 tokens loaded.\n"
    assert everything() == before


def test_a_changed_file_updates_in_place_so_that_ids_stay(tmp_path: Path) -> None:
    load(write(tmp_path, [chain()]))
    ids = set(Token.objects.values_list("id", flat=True))
    changed = chain(
        name="Base Mainnet",
        is_active=False,
        confirmations="safe",
        rpc_urls=["env:BASE_RPC_URL"],
        tokens=[token(symbol="USDC.b", is_active=False, tags=["stablecoin"], trailing_data=False)],
    )
    load(write(tmp_path, [changed]))
    stored = Chain.objects.get()
    assert (stored.name, stored.is_active, stored.confirmations) == ("Base Mainnet", False, "safe")
    usdc = Token.objects.get(contract_address=USDC_ON_BASE)
    assert (usdc.symbol, usdc.is_active, usdc.tags, usdc.trailing_data) == (
        "USDC.b",
        False,
        ["stablecoin"],
        False,
    )
    assert set(Token.objects.values_list("id", flat=True)) == ids


def test_what_a_file_does_not_name_stays_as_it_is(tmp_path: Path) -> None:
    load(write(tmp_path, [chain()]))
    load(write(tmp_path, [chain(id=10, name="OP Mainnet")]))
    assert list(Chain.objects.values_list("id", "name")) == [(10, "OP Mainnet"), (8453, "Base")]
    assert Token.objects.count() == 4


def test_address_in_other_case_is_stored_once_with_checksum(tmp_path: Path) -> None:
    load(write(tmp_path, [chain(tokens=[token(contract_address=USDC_ON_BASE.lower())])]))
    load(write(tmp_path, [chain(tokens=[token()])]))
    assert Token.objects.get().contract_address == USDC_ON_BASE


def test_a_chain_id_of_sixty_four_bits_fits(tmp_path: Path) -> None:
    solana = chain(
        id=1151111081099712, name="Solana Devnet", chain_type="solana", network="devnet",
        confirmations="confirmed",
        routers={}, tokens=[token(contract_address="4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")],
    )  # fmt: skip
    load(write(tmp_path, [solana]))
    assert Chain.objects.values_list("id", "network", "confirmations").get() == (
        1151111081099712,
        "devnet",
        "confirmed",
    )


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (chain(tokens=[token(decimals=18)]), "decimals can't change from 6"),
        (
            chain(tokens=[token(contract_address=USDC_ON_BASE.lower(), decimals=0)]),
            "decimals can't change from 6",
        ),
        (
            chain(chain_type="solana", confirmations="finalized", tokens=[], routers={}),
            "chain_type can't change from evm",
        ),
    ],
)
def test_what_would_re_value_existing_money_is_refused(
    tmp_path: Path, changed: dict[str, Any], says: str
) -> None:
    load(write(tmp_path, [chain()]))
    before = everything()
    with pytest.raises(CommandError, match=says):
        load(write(tmp_path, [chain(id=1, name="Ethereum", tokens=[]), changed]))
    assert everything() == before


def test_switching_a_chain_off_hides_it_and_stops_new_requests(
    tmp_path: Path, public: Api, api: Api, order: Callable[..., dict[str, Any]]
) -> None:
    load(write(tmp_path, [chain(), chain(id=10, name="OP Mainnet", is_active=False)]))
    assert 10 not in [entry["id"] for entry in public.get("/api/public/chains").json()]
    assert public.get("/api/public/chains/10/tokens").status_code == 404
    off = Token.objects.get(chain_id=10, symbol="USDC")
    error = api.post("/api/payment-requests", order(chain_id=10, token_id=off.id)).json()["error"]
    assert error["code"] == "chain_unknown"


def test_node_url_with_env_prefix_is_read_from_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BASE_RPC_URL", "https://node.example/secret")
    monkeypatch.delenv("BASE_RPC_URL_2", raising=False)
    stored = Chain(rpc_urls=["env:BASE_RPC_URL", "env:BASE_RPC_URL_2", "https://public.example"])
    assert node_urls(stored) == ("https://node.example/secret", "https://public.example")
