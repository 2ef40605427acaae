"""The pages of chains and tokens show the workers' last probe of the nodes. They don't call nodes."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chains.health import NodeCheck, write_status
from chains.models import Chain, Token
from tests.support.portal.payment_rows import page_of


def node(
    host: str,
    state: str,
    head: int | None,
    behind: int | None = 0,
    error: str = "",
    final: int | None = None,
) -> NodeCheck:
    return NodeCheck(host, state, head, behind, error, final)


@pytest.fixture
def chain(token: Token) -> Chain:
    """A chain whose nodes are unreachable."""
    Token.objects.create(
        chain=token.chain,
        symbol="OLD",
        name="Old",
        decimals=6,
        contract_address="0x" + "2" * 40,
        is_active=False,
    )
    token.chain.rpc_urls = ["https://node.example/v2/provider-key"]
    token.chain.save()
    return token.chain


def test_chain_page_shows_block_lag_and_last_node_probe(admin_client: Client, chain: Chain) -> None:
    nodes = [
        node("one.example", "answering", 1_234_567),
        node("two.example", "lagging", 1_234_500, 67),
        node("three.example", "failing", None, None, "the node answered HTTP 503"),
        node("four.example", "answering", 1_234_567),
    ]
    write_status(chain, nodes, timezone.now())
    listed = page_of(admin_client, "chains/chain")
    for part in ("impaired", "1,234,567", "2 of 4 respond", "67 blocks behind at most", "1 of 2"):
        assert part in listed, part
    page = page_of(admin_client, "chains/chain", chain.pk)
    for part in (
        "Enough nodes respond, but not all of them.",
        "three.example",
        "The node answered HTTP 503",
        "67 behind",
    ):
        assert part in page, part


def test_chain_page_shows_since_when_the_tag_has_not_moved(admin_client: Client, chain: Chain) -> None:
    chain.confirmations, chain.confirmations_fallback = "finalized", 256
    chain.save()
    now = timezone.now()
    for minutes, head in ((20, 1_000), (0, 1_100)):
        write_status(
            chain, [node("one.example", "answering", head, final=990)], now - timedelta(minutes=minutes)
        )
    assert "not finalizing" in page_of(admin_client, "chains/chain")
    page = page_of(admin_client, "chains/chain", chain.pk)
    for part in ("none is marked as final", "finalized or 256 blocks", "990, since", "20 minutes ago"):
        assert part in page, part


def test_unchecked_nodes_are_unknown_and_never_working(admin_client: Client, chain: Chain) -> None:
    assert "unknown" in page_of(admin_client, "chains/chain")
    write_status(chain, [node("one.example", "answering", 1)], timezone.now() - timedelta(minutes=6))
    page = page_of(admin_client, "chains/chain", chain.pk)
    assert "No worker has checked the nodes in the last five minutes." in page
    assert "working" not in page


def test_a_token_shows_how_its_chain_does(admin_client: Client, chain: Chain) -> None:
    write_status(chain, [node("one.example", "failing", None, None, "no answer")], timezone.now())
    assert "down" in page_of(admin_client, "chains/token")
    Chain.objects.update(is_active=False)
    assert ">off<" in page_of(admin_client, "chains/token").replace("\n", "").replace(" ", "")
