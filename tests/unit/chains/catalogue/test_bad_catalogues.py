"""A catalogue file with an error changes nothing. The message says where the error is."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from tests.support.chains.catalogue_files import USDC_ON_BASE, chain, everything, load, token, write

pytestmark = pytest.mark.django_db

FILES: list[Any] = [
    "", "{", "null", "[]", "{}", '{"chains": null}', '{"chains": {}}', '{"chains": [1]}',
    '{"chains": [], "tokens": []}',
    '{"chains": [], "chains": []}', '{"chains": [NaN]}', b'{"chains": ["\xff"]}', '{"chains": [' + "[" * 100_000,
    '{"chains": [' + "9" * 5000 + "]}", "chains: []",
]  # fmt: skip
FEED = {"pair": "ETH/USD", "address": "0x" + "1" * 40, "heartbeat": 3600}
CHAINS = [
    {"id": ...}, {"id": None}, {"id": "8453"}, {"id": 0}, {"id": 1.5}, {"id": True}, {"id": 2**63},
    {"name": ...}, {"name": "  "}, {"name": 7}, {"name": "x" * 101}, {"name": "Ba\nse"}, {"name": "\u202eesaB"},
    {"chain_type": ...}, {"chain_type": "EVM"}, {"chain_type": []}, {"network": 7}, {"is_active": "true"},
    {"rpc_urls": None}, {"rpc_urls": "https://node.example"}, {"rpc_urls": [7]}, {"rpc_urls": ["node.example"]},
    {"rpc_urls": ["ws://node.example"]}, {"rpc_urls": ["https://"]}, {"rpc_urls": ["https://node.example:99999"]},
    {"rpc_urls": ["https://node.example/" + "k" * 500]}, {"rpc_urls": ["env:"]}, {"rpc_urls": ["env:base_rpc_url"]},
    {"rpc_urls": ["env:BASE_RPC_URL\n"]}, {"rpc_urls": ["ENV:BASE_RPC_URL"]},
    {"ws_urls": None}, {"ws_urls": [7]}, {"ws_urls": ["https://node.example"]}, {"ws_urls": ["env:base_ws_url"]},
    {"explorer_url": None}, {"explorer_url": "javascript:alert(1)"}, {"explorer_url": "https://" + "x" * 500},
    {"wallet_rpc_url": None}, {"wallet_rpc_url": "env:BASE_RPC_URL"}, {"wallet_rpc_url": "http://node.example"},
    {"wallet_rpc_url": "https://user:key@node.example"}, {"wallet_rpc_url": "https://node.example/?key=1"},
    {"wallet_rpc_url": "https://node.example/v2/0123456789abcdef0123"},
    {"native_symbol": ...}, {"native_symbol": ""}, {"native_symbol": "E" * 17}, {"confirmations": 0},
    {"confirmations": "5"}, {"confirmations": "confirmed"}, {"confirmations": True}, {"confirmations": 10**9},
    {"confirmations_fallback": 256}, {"confirmations": "finalized", "confirmations_fallback": 0},
    {"confirmations": "finalized", "confirmations_fallback": "256"},
    {"block_time_ms": 0}, {"block_time_ms": 0.45}, {"block_time_ms": 10**9}, {"routers": None}, {"routers": []},
    {"routers": {"lifi": "0x12"}}, {"routers": {"lifi": ["0x12"]}}, {"routers": {"lifi": ["0x" + "0" * 40]}},
    {"routers": {"lifi": ["0x1231DEB6f5749EF6cE6943a275A1D3E7486F4Eae"]}}, {"routers": {"": []}},
    {"tokens": None}, {"tokens": [1]}, {"symbol": "ETH"},
    {"feeds": None}, {"feeds": ["ETH/USD"]}, {"feeds": [{}]}, {"feeds": [FEED, FEED]},
    {"feeds": [{**FEED, "pair": "ETH/EUR"}]}, {"feeds": [{**FEED, "pair": "eth/USD"}]},
    {"feeds": [{**FEED, "pair": None}]}, {"feeds": [{**FEED, "decimals": 8}]}, {"feeds": [{**FEED, "address": "0x12"}]},
    {"feeds": [{**FEED, "heartbeat": 0}]}, {"feeds": [{**FEED, "heartbeat": "3600"}]},
    {"feeds": [{**FEED, "heartbeat": True}]}, {"feeds": [{**FEED, "heartbeat": 10**9}]},
    {"chain_type": "solana", "routers": {}, "tokens": [], "confirmations": "finalized", "feeds": [FEED]},
    {"chain_type": "solana", "routers": {}, "tokens": [], "confirmations": 32},
    {"chain_type": "solana", "routers": {}, "tokens": [], "confirmations": "finalized", "confirmations_fallback": 32},
    {"chain_type": "solana", "routers": {}, "confirmations": "finalized"},
]  # fmt: skip
EIP3009 = {"type": "eip3009", "name": "USD Coin", "version": "2"}
TOKENS = [
    {"price_as": "usdc"}, {"price_as": "X" * 17}, {"price_as": 1}, {"price_as": "ETH/USD"}, {"price_as": "EUR"},
    {"symbol": ...}, {"symbol": ""}, {"symbol": "X" * 33}, {"symbol": "US\u202eDC"}, {"name": ...}, {"name": "x" * 101},
    {"decimals": ...}, {"decimals": "6"}, {"decimals": 6.0}, {"decimals": -1}, {"decimals": 37}, {"decimals": True},
    {"contract_address": ...}, {"contract_address": None}, {"contract_address": USDC_ON_BASE[:-1]},
    {"contract_address": USDC_ON_BASE + "\n"}, {"contract_address": USDC_ON_BASE.replace("f", "F", 1)},
    {"contract_address": "0x" + "0" * 40}, {"contract_address": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"},
    {"is_active": "yes"}, {"tags": None}, {"tags": [1]}, {"tags": ["x" * 33]}, {"trailing_data": "false"},
    {"address": USDC_ON_BASE}, {"is_actve": True},
    {"authorization": "eip3009"}, {"authorization": {}}, {"authorization": {**EIP3009, "type": "eip2612"}},
    {"authorization": {**EIP3009, "name": ""}}, {"authorization": {**EIP3009, "version": 2}},
    {"authorization": {**EIP3009, "salt": "1"}}, {"authorization": {"type": "eip3009", "name": "USD Coin"}},
    {"authorization": EIP3009, "contract_address": "", "symbol": "ETH"},
]  # fmt: skip


def refused(directory: Path, content: Any) -> str:
    """Load the file over an existing catalogue; check that nothing changed; return the error message."""
    load(write(directory, [chain(id=1, name="Ethereum")]))
    return rejection(directory, content)


def rejection(directory: Path, content: Any) -> str:
    """Load the file; check that nothing changed; return the error message."""
    before = everything()
    with pytest.raises(CommandError, match=r"^The catalogue was not loaded: ") as said:
        load(write(directory, content))
    assert everything() == before, content
    return str(said.value)


@pytest.mark.parametrize("content", FILES, ids=lambda content: ascii(content)[:40])
def test_a_file_that_is_no_catalogue(tmp_path: Path, content: Any) -> None:
    refused(tmp_path, content)


def test_bad_chain_rejects_the_file(tmp_path: Path) -> None:
    load(write(tmp_path, [chain(id=1, name="Ethereum")]))
    for different in CHAINS:
        good_first = [chain(id=2, name="Fine"), chain(**different)]
        assert "chain " in rejection(tmp_path, good_first), different


def test_bad_token_rejects_the_file_and_is_named(tmp_path: Path) -> None:
    load(write(tmp_path, [chain(id=1, name="Ethereum")]))
    for different in TOKENS:
        tokens = [token(symbol="ETH", contract_address=""), token(**different)]
        assert "chain Base, token " in rejection(tmp_path, [chain(tokens=tokens)]), different


def test_duplicate_chain_or_token_is_an_error(tmp_path: Path) -> None:
    assert "twice" in refused(tmp_path, [chain(), chain(name="Base again")])
    twice = [token(), token(symbol="OTHER", contract_address=USDC_ON_BASE.lower())]
    assert "twice" in refused(tmp_path, [chain(tokens=twice)])
    assert "twice" in refused(
        tmp_path, [chain(tokens=[token(contract_address=""), token(contract_address="")])]
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="can't be read"):
        load(tmp_path / "nowhere.json")
    with pytest.raises(CommandError, match="can't be read"):
        load(tmp_path)
