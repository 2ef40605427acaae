"""A pending transaction, and its replacement with the same nonce."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Page

from tests.chain import LocalChain

_MORE = 3
_CALL = {"to": "to", "value": "value", "data": "input"}


@contextmanager
def held_back(chain: LocalChain) -> Iterator[None]:
    """Have the chain mine blocks only on demand."""
    chain.rpc("evm_setAutomine", False)
    try:
        yield
    finally:
        chain.rpc("evm_setAutomine", True)
        chain.mine()


def speed_up(chain: LocalChain, transaction_hash: str) -> str:
    """Send the same transaction with a higher fee; return its hash."""
    waiting = chain.rpc("eth_getTransactionByHash", transaction_hash)
    same = {name: waiting[shown] for name, shown in _CALL.items()}
    return _replace(chain, waiting, same)


def cancel(chain: LocalChain, transaction_hash: str) -> str:
    """Replace the transaction by an empty one to the sender, with a higher fee; return its hash."""
    waiting = chain.rpc("eth_getTransactionByHash", transaction_hash)
    return _replace(chain, waiting, {"to": waiting["from"], "value": "0x0", "data": "0x"})


def _replace(chain: LocalChain, waiting: dict[str, Any], call: dict[str, Any]) -> str:
    fees = {
        name: hex(int(waiting[name], 16) * _MORE + 1) for name in ("maxFeePerGas", "maxPriorityFeePerGas")
    }
    sent = {"from": waiting["from"], "nonce": waiting["nonce"], "gas": waiting["gas"], **fees, **call}
    return str(chain.rpc("eth_sendTransaction", sent))


def until_followed(page: Page, request: dict[str, Any]) -> None:
    """Wait until the page knows its transaction's nonce, by which it recognises a replacement."""
    kept = "id => JSON.parse(localStorage.getItem(`quittance:${id}`)).own.every(({nonce}) => nonce !== null)"
    page.wait_for_function(kept, arg=request["id"])
