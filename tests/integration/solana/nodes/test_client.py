"""The client rejects nodes of other clusters, verifies signatures, and needs few round trips."""

import base64
import json
from pathlib import Path

import pytest
from django.core.management import CommandError
from solders.keypair import Keypair

from chains.catalogue import CatalogueError, read_catalogue
from chains.client import ChainError
from chains.families import get_client
from chains.families.solana.client import SolanaClient
from chains.models import Chain, Token
from chains.monitoring.catalogue import verify_catalogue
from demo.services import surfnet
from demo.services.process import REPOSITORY
from tests.fault_proxy import forged, proxying
from tests.support.chains.catalogue_files import load, write
from tests.support.solana.accounts import make_fee_mint, make_scaling_mint
from tests.support.solana.ledger import LocalLedger, new_address

MAINNET, DEVNET = 1151111081099710, 1151111081099712
MAINNET_GENESIS = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
DEVNET_GENESIS = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG"


def test_node_of_another_cluster_is_rejected(local_ledger: LocalLedger) -> None:
    for number, network in ((MAINNET, ""), (DEVNET, "devnet")):
        client = SolanaClient([local_ledger.url], number, network)
        with pytest.raises(ChainError):
            client.look_up([], with_finality=True)
        with pytest.raises(ChainError):
            client.recipient_problem(new_address())


def test_public_clusters_are_known_by_their_genesis_hash(local_ledger: LocalLedger) -> None:
    with proxying(local_ledger.url) as node:
        for genesis, number, network in ((MAINNET_GENESIS, MAINNET, ""), (DEVNET_GENESIS, DEVNET, "devnet")):
            node.break_with(forged("getGenesisHash", lambda _, said=genesis: said))
            assert SolanaClient([node.url], number, network).chain_id() == number
            assert SolanaClient([node.url], 7, "local").chain_id() == number


def test_catalogue_of_the_local_world_matches_its_chain(
    local_ledger: LocalLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_SOLANA_RPC_URL", local_ledger.url)
    chains = read_catalogue(REPOSITORY / "demo" / "solana" / "catalogue.json")
    assert verify_catalogue(chains) == []
    assert chains[0]["id"] == surfnet.CHAIN_ID
    chains[0]["tokens"][1]["decimals"] = 9
    with pytest.raises(CatalogueError, match="decimals"):
        verify_catalogue(chains)


def test_sponsored_token_must_belong_to_the_plain_program(
    local_ledger: LocalLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_SOLANA_RPC_URL", local_ledger.url)
    chains = read_catalogue(REPOSITORY / "demo" / "solana" / "catalogue.json")
    assert chains[0]["tokens"][1]["authorization"] == {"type": "solana"}
    chains[0]["tokens"][1]["contract_address"] = make_fee_mint(local_ledger, holder_units=1)
    with pytest.raises(
        CatalogueError, match="can't have an authorization: it is not a token of the SPL Token"
    ):
        verify_catalogue(chains)
    chains[0]["tokens"][1]["authorization"] = None
    assert verify_catalogue(chains) == []


@pytest.mark.django_db
@pytest.mark.parametrize("interest", [False, True])
def test_mint_that_scales_amounts_is_rejected(
    local_ledger: LocalLedger,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    interest: bool,
) -> None:
    monkeypatch.setenv("LOCAL_SOLANA_RPC_URL", local_ledger.url)
    address = make_scaling_mint(local_ledger, interest=interest)
    [entry] = json.loads((REPOSITORY / "demo" / "solana" / "catalogue.json").read_text())["chains"]
    entry["tokens"][1]["contract_address"] = address
    with pytest.raises(CommandError, match=f"{address} can't be offered: its mint scales amounts"):
        load(write(tmp_path, [entry]), "--verify")
    assert not Token.objects.exists()


def test_signature_is_read_as_base58_and_base64(solana: Chain) -> None:
    client, key, message = get_client(solana), Keypair(), "pay.example.com wants you to sign — ₿"
    address, signature = str(key.pubkey()), key.sign_message(message.encode())
    for written in (str(signature), base64.b64encode(bytes(signature)).decode()):
        assert client.is_signed_by(address, message, written)
        assert not client.is_signed_by(address, message + " ", written)
        assert not client.is_signed_by(new_address(), message, written)


@pytest.mark.parametrize("signature", ["", "1", "0x" + "11" * 65, "a" * 88, "é" * 88, "=" * 88, "1" * 10_000])
def test_malformed_signature_proves_nothing(solana: Chain, signature: str) -> None:
    client = get_client(solana)
    assert not client.is_signed_by(new_address(), "message", signature)
    assert not client.is_signed_by("not an address", "message", signature)


def test_hundred_transactions_take_few_round_trips(
    local_ledger: LocalLedger,
) -> None:
    sent = [local_ledger.send(local_ledger.coin_move(new_address(), 10**6)) for _ in range(20)]
    unknown = [str(Keypair().sign_message(b"never sent")) for _ in range(80)]
    with proxying(local_ledger.url) as node:
        client = SolanaClient([node.url], surfnet.CHAIN_ID, "local")
        client.chain_id()
        before = node.round_trips
        snapshot = client.look_up([*sent, *unknown], with_finality=True)
        assert node.round_trips - before <= 10
    assert all(snapshot.transactions[signature] for signature in sent)
    assert not any(snapshot.transactions[signature] for signature in unknown)
    assert snapshot.head.finalized is not None
    assert snapshot.head.latest > snapshot.head.finalized


def test_transactions_are_queried_25_at_a_time(local_ledger: LocalLedger) -> None:
    """A stranger's largest transactions must all fit into one response."""
    sent = [local_ledger.send(local_ledger.coin_move(new_address(), 10**6)) for _ in range(60)]
    with proxying(local_ledger.url) as node:
        snapshot = SolanaClient([node.url], surfnet.CHAIN_ID, "local").look_up(sent, with_finality=True)
        most = max(methods.count("getTransaction") for methods in node.asked)
    assert most == 25
    assert all(snapshot.transactions[signature] for signature in sent)
