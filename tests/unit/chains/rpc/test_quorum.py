"""Results of several nodes are combined so that no single node decides."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from chains.client import Block, Mention, TransactionFacts, Transfer
from chains.families import node_urls
from chains.models import Chain
from chains.rpc.quorum import _both, _not_mined

A, B = b"a" * 16, b"b" * 16
TOKEN = Transfer("3", "0xT", "0xS", "0xR", 5, (A,), made_by="0xS")
INNER = Transfer("0.1", "", "0xS", "0xR", 7)
MINED = TransactionFacts(
    "0x1", "0xS", 1, Block(9, "0xB", datetime(2026, 1, 1, tzinfo=UTC)), True, (TOKEN, INNER), effect="0xE"
)
UNTRACED = replace(MINED, transfers=(TOKEN,), is_complete=False)
Facts = TransactionFacts


def claimed(facts: Facts | None) -> list[tuple[tuple[bytes, ...], str, int | None]]:
    assert facts is not None
    return [(t.references, t.made_by, t.claimable) for t in facts.transfers]


def test_traced_and_untraced_facts_agree_on_what_both_show() -> None:
    assert _both(MINED, MINED) == MINED
    assert _both(MINED, UNTRACED) == _both(UNTRACED, MINED) == UNTRACED
    bound_otherwise = replace(UNTRACED, transfers=(replace(TOKEN, references=(A, B)),))
    assert _both(MINED, bound_otherwise) == UNTRACED
    unbound = replace(TOKEN, references=(B,))
    both = _both(MINED, replace(UNTRACED, transfers=(unbound,)))
    assert both is not None
    assert both.transfers == (replace(TOKEN, references=()),)


def test_mark_that_one_node_shows_is_no_contradiction() -> None:
    """The node has no trace, or lacks the account's state. So it can't see the call with the mark."""
    marked = replace(TOKEN, is_marked=True)
    unseen = replace(TOKEN, references=(), made_by="")
    traced, untraced = replace(MINED, transfers=(marked, INNER)), replace(UNTRACED, transfers=(unseen,))
    for both in (_both(traced, untraced), _both(untraced, traced)):
        assert both is not None
        assert both.transfers == (replace(unseen, is_marked=True),)
    assert _both(traced, MINED) is None, "both show the call"


def test_different_network_fees_leave_the_fee_unknown() -> None:
    one, other = replace(MINED, network_fee=21_000), replace(MINED, network_fee=42_000)
    both = _both(one, other)
    assert both == MINED
    assert both is not None
    assert both.network_fee is None
    agreed = _both(one, one)
    assert agreed is not None
    assert agreed.network_fee == 21_000


@pytest.mark.parametrize("is_complete", [True, False], ids=["both complete", "neither complete"])
def test_evidence_of_one_node_alone_is_not_agreed(is_complete: bool) -> None:
    """Perhaps only one node still has the state with an account's code. This is not a contradiction."""
    full = replace(MINED, transfers=(TOKEN,), is_complete=is_complete)
    for poorer, expected in (
        (replace(TOKEN, references=()), ((), "0xS", None)),
        (replace(TOKEN, made_by=""), ((A,), "", None)),
        (replace(TOKEN, claimable=2), ((A,), "0xS", 2)),
        (replace(TOKEN, claimable=0), ((A,), "0xS", 0)),
    ):
        other = replace(full, transfers=(poorer,))
        for both in (_both(full, other), _both(other, full)):
            assert claimed(both) == [expected]
            assert both is not None
            assert not both.is_complete


def test_transfers_lie_within_calls_that_both_nodes_show() -> None:
    router, other, log = Mention("0xM", b"id"), Mention("0xO", b"id"), Mention("0xM", b"log", is_log=True)
    traced = replace(
        MINED,
        mentions=(other, router, log),
        transfers=(replace(TOKEN, within=(0, 1)), replace(INNER, within=(1,))),
    )
    untraced = replace(UNTRACED, mentions=(router, log), transfers=(replace(TOKEN, within=(0,)),))
    for both in (_both(traced, untraced), _both(untraced, traced)):
        assert both is not None
        assert both.mentions == (router, log)
        assert [t.within for t in both.transfers] == [(0,)]
    assert _both(traced, replace(untraced, mentions=(router,))) is None, "logs are in every receipt"
    unseen = _both(traced, replace(untraced, transfers=(TOKEN,)))
    assert unseen is not None
    assert [t.within for t in unseen.transfers] == [()]


def test_unreadable_transaction_contradicts_no_other_node() -> None:
    unreadable = replace(MINED, transfers=(), is_complete=False, is_readable=False)
    assert _both(MINED, unreadable) == _both(unreadable, MINED) == unreadable
    assert _both(MINED, replace(unreadable, succeeded=False)) is None


def test_unmined_nonce_and_effect_need_two_nodes() -> None:
    waiting = replace(MINED, block=None, succeeded=False, transfers=(), intended=(TOKEN,))
    elsewhere = replace(waiting, nonce=2, effect="0xF", intended=())
    alone = _not_mined([None, waiting])
    assert alone is not None
    assert (alone.intended, alone.nonce, alone.effect) == ((TOKEN,), None, "")
    two = _not_mined([waiting, waiting])
    assert two is not None
    assert (two.intended, two.nonce, two.effect) == ((TOKEN,), 1, "0xE")
    both = _not_mined([waiting, elsewhere])
    assert both is not None
    assert (both.nonce, both.effect) == (None, "")
    seen_in_a_block = _not_mined([MINED, waiting])
    assert seen_in_a_block is not None
    assert (seen_in_a_block.block, seen_in_a_block.transfers) == (None, ())
    assert (seen_in_a_block.intended, seen_in_a_block.effect) == ((TOKEN,), "0xE")


@pytest.mark.parametrize(
    "different",
    [
        {"succeeded": False, "transfers": ()},
        {"transfers": (TOKEN,)},
        {"transfers": ()},
        {"transfers": (replace(TOKEN, amount=6), INNER)},
        {"transfers": (replace(TOKEN, references=(B,)), INNER)},
        {"transfers": (replace(TOKEN, made_by="0xX"), INNER)},
        {"effect": "0xF"},
        {"block": replace(MINED.block or Block(0, "", datetime.now(UTC)), hash="0xC")},
        {"sender": "0xX"},
        {"nonce": 2},
    ],
    ids=str,
)
def test_facts_with_any_difference_do_not_agree(different: dict[str, object]) -> None:
    assert _both(MINED, replace(MINED, **different)) is None  # type: ignore[arg-type]


def test_transfer_missing_from_the_trace_is_not_agreed() -> None:
    invented = replace(TOKEN, slot="4")
    assert _both(MINED, replace(UNTRACED, transfers=(TOKEN, invented))) is None


def test_weaker_of_two_commitments_counts() -> None:
    confirmed, finalized = replace(MINED, commitment="confirmed"), replace(MINED, commitment="finalized")
    assert _both(confirmed, finalized) == confirmed
    assert _both(finalized, finalized) == finalized


def test_node_listed_twice_in_the_catalogue_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAME_RPC_URL", "https://node.example/a")
    urls = ["env:SAME_RPC_URL", "https://node.example/b", "https://node.example/a", "env:NOT_SET_RPC_URL"]
    assert node_urls(Chain(id=1, rpc_urls=urls)) == ("https://node.example/a", "https://node.example/b")
