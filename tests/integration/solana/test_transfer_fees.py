"""Fees of Token-2022 mints are read from the chain, at most once a minute."""

from dataclasses import dataclass

from spl.token.constants import TOKEN_2022_PROGRAM_ID

from chains.families.solana.client import SolanaClient
from chains.models import Chain
from tests.fault_proxy import Exchange, Fault, forged, proxying
from tests.support.solana.accounts import make_fee_mint
from tests.support.solana.answers import address
from tests.support.solana.ledger import LocalLedger


def test_fee_of_a_mint_is_read_once_a_minute(solana: Chain, local_ledger: LocalLedger) -> None:
    token, recipient, clock = make_fee_mint(local_ledger, holder_units=10**9), address(), Clock()
    move = local_ledger.token_move(recipient, 1000, token=token, program=TOKEN_2022_PROGRAM_ID)
    signature = local_ledger.send(move)
    methods: list[str] = []
    with proxying(local_ledger.url) as node:
        node.break_with(_noting(methods))
        client = SolanaClient([node.url], solana.id, solana.network, clock=clock)
        for _ in range(2):
            assert _received(client, signature, recipient) == [990]
        assert [method for method in methods if method.startswith("getM")] == ["getMultipleAccounts"]
        clock.now += 61
        assert _received(client, signature, recipient) == [990]
    assert methods.count("getMultipleAccounts") == 2
    assert methods.count("getEpochSchedule") == 1


def test_unreadable_mint_affects_only_its_own_transaction(solana: Chain, local_ledger: LocalLedger) -> None:
    token, recipient = make_fee_mint(local_ledger, holder_units=10**9), address()
    move = local_ledger.token_move(recipient, 1000, token=token, program=TOKEN_2022_PROGRAM_ID)
    odd, plain = local_ledger.send(move), local_ledger.send(local_ledger.token_move(recipient, 5))
    with proxying(local_ledger.url) as node:
        node.break_with(forged("getMultipleAccounts", lambda _: {"value": "nonsense"}))
        client = SolanaClient([node.url], solana.id, solana.network)
        snapshot = client.look_up([odd, plain], with_finality=True)
        assert snapshot.contradicted == {odd}
        facts = snapshot.transactions[plain]
        assert facts is not None
        assert [t.amount for t in facts.transfers if t.token] == [5]
        node.heal()
        assert _received(client, odd, recipient) == [990]


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def _received(client: SolanaClient, signature: str, recipient: str) -> list[int]:
    facts = client.look_up([signature], with_finality=True).transactions[signature]
    assert facts is not None
    return [t.amount for t in facts.transfers if t.recipient == recipient]


def _noting(methods: list[str]) -> Fault:
    def reply(exchange: Exchange) -> None:
        methods.extend(question["method"] for question in exchange.questions)
        exchange.reply(exchange.truth())

    return reply
