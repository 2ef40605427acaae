"""Only two things count as a transfer: the token's own Transfer log in its exact shape, and the native value."""

import pytest

from chains.client import Transfer
from chains.families.evm.client import EvmClient
from tests.chain import LocalChain
from tests.support.chains.mining import mined

REFERENCE = bytes(range(16))


def transfers_of(client: EvmClient, chain: LocalChain, transaction_hash: str) -> tuple[Transfer, ...]:
    mined(chain, transaction_hash)
    facts = client.look_up([transaction_hash], with_finality=False).transactions[transaction_hash]
    assert facts is not None
    assert facts.succeeded
    return facts.transfers


def reference_of(transfer: Transfer) -> bytes | None:
    """Return the transfer's reference. On EVM, a transfer can have one at most."""
    assert len(transfer.references) <= 1
    return next(iter(transfer.references), None)


def test_token_transfer_is_read_with_its_reference(local_chain: LocalChain, client: EvmClient) -> None:
    sent = local_chain.transfer(local_chain.usdc, local_chain.recipient, 5_000_000, tail=REFERENCE)
    [transfer] = transfers_of(client, local_chain, sent)
    assert (transfer.slot, transfer.token, transfer.amount) == ("0", local_chain.usdc, 5_000_000)
    assert (transfer.sender, transfer.recipient) == (local_chain.payer, local_chain.recipient)
    assert reference_of(transfer) == REFERENCE


def test_native_transfer_is_read_with_its_reference(local_chain: LocalChain, client: EvmClient) -> None:
    sent = local_chain.transfer("", local_chain.recipient, 2**65, tail=REFERENCE)
    [transfer] = transfers_of(client, local_chain, sent)
    assert (transfer.slot, transfer.token, transfer.amount) == ("value", "", 2**65)
    assert (transfer.sender, transfer.recipient) == (local_chain.payer, local_chain.recipient)
    assert reference_of(transfer) == REFERENCE


@pytest.mark.parametrize(
    ("tail", "reference"),
    [(b"r" * 15, None), (REFERENCE + b"wallet suffix", REFERENCE)],
)
@pytest.mark.parametrize("kind", ["token", "native"])
def test_reference_has_16_bytes_after_the_arguments(
    local_chain: LocalChain, client: EvmClient, kind: str, tail: bytes, reference: bytes | None
) -> None:
    token = local_chain.usdc if kind == "token" else ""
    [transfer] = transfers_of(
        client, local_chain, local_chain.transfer(token, local_chain.recipient, 1, tail=tail)
    )
    assert reference_of(transfer) == reference


def test_call_without_value_moves_nothing(local_chain: LocalChain, client: EvmClient) -> None:
    assert (
        transfers_of(client, local_chain, local_chain.transfer("", local_chain.recipient, 0, tail=REFERENCE))
        == ()
    )
