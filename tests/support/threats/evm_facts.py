"""The facts that one or several nodes prove about a transaction."""

from chains.client import TransactionFacts, Transfer
from chains.families.evm.client import EvmClient
from tests.chain import LocalChain

REFERENCE, OTHER = b"r" * 16, b"o" * 16


def facts_by(chain: LocalChain, transaction_hash: str, *urls: str) -> TransactionFacts:
    """Return the facts from a new client of these nodes."""
    client = EvmClient(urls, chain.chain_id)
    facts = client.look_up([transaction_hash], with_finality=False).transactions[transaction_hash]
    assert facts is not None
    return facts


def paid(facts: TransactionFacts, recipient: str, token: str) -> list[Transfer]:
    return [t for t in facts.transfers if (t.recipient, t.token) == (recipient, token)]


def claims(transfers: list[Transfer]) -> list[tuple[tuple[bytes, ...], str]]:
    return [(transfer.references, transfer.made_by) for transfer in transfers]


def unclaimed(count: int = 1) -> list[tuple[tuple[bytes, ...], str]]:
    """Return the claims of transfers that neither a reference nor a proof can claim."""
    return [((), "")] * count
