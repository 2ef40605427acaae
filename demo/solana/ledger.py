"""Query the local Solana node, and sign and send transactions.

The keys here are public. Don't use them on other chains.
"""

import base64
import hashlib
import time
from collections.abc import Sequence
from typing import Any

import requests
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

LAMPORTS_PER_SOL = 10**9
_PATIENCE_SECONDS = 30.0


class LedgerRefusal(RuntimeError):
    """The node returned an error, or the transaction failed."""


def known_key(name: str) -> Keypair:
    """The key pair of `name` on all local chains. It is public."""
    return Keypair.from_seed(hashlib.sha256(b"quittance local world: " + name.encode()).digest())


def rpc(url: str, method: str, *params: Any) -> Any:
    """Return the result of one call. Raises LedgerRefusal with the node's own error."""
    question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    answer = requests.post(url, json=question, timeout=30).json()
    if answer.get("error"):
        raise LedgerRefusal(f"{method}: {answer['error']}")
    return answer["result"]


def fund(url: str, address: Pubkey, lamports: int) -> None:
    """Give `address` this many lamports, and wait until they have arrived."""
    wait_for(url, str(rpc(url, "requestAirdrop", str(address), lamports)))


def latest_blockhash(url: str) -> Hash:
    """Return a current blockhash to sign with."""
    return Hash.from_string(rpc(url, "getLatestBlockhash", {"commitment": "confirmed"})["value"]["blockhash"])


def send(url: str, instructions: Sequence[Instruction], signers: Sequence[Keypair]) -> str:
    """Sign and send a v0 transaction. The first signer pays. Return the signature when it is confirmed.

    Raises LedgerRefusal if the transaction fails.
    """
    message = MessageV0.try_compile(signers[0].pubkey(), list(instructions), [], latest_blockhash(url))
    return send_signed(url, VersionedTransaction(message, list(signers)))


def sign(unsigned: str, key: Keypair) -> VersionedTransaction:
    """Sign a base64 transaction from `build-transaction` with the payer's `key`."""
    message = VersionedTransaction.from_bytes(base64.b64decode(unsigned)).message
    return VersionedTransaction.populate(message, [key.sign_message(to_bytes_versioned(message))])


def send_signed(url: str, transaction: VersionedTransaction, *, even_if_it_fails: bool = False) -> str:
    """Send a signed transaction. Wait until it is confirmed, and return its signature.

    With `even_if_it_fails`, the node doesn't simulate the transaction first. So even a transaction that fails gets into
    a block.
    """
    options = {"encoding": "base64", "skipPreflight": even_if_it_fails, "preflightCommitment": "confirmed"}
    signature = rpc(url, "sendTransaction", base64.b64encode(bytes(transaction)).decode(), options)
    error = wait_for(url, signature)
    if error is not None and not even_if_it_fails:
        raise LedgerRefusal(f"{signature} failed: {error}")
    return str(signature)


def wait_for(url: str, signature: str, commitment: str = "confirmed") -> Any:
    """Wait until a transaction has reached `commitment`. Return its error, or None if it succeeded."""
    reached = ("confirmed", "finalized")[("confirmed", "finalized").index(commitment) :]
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        [status] = rpc(url, "getSignatureStatuses", [signature])["value"]
        if status and status["confirmationStatus"] in reached:
            return status["err"]
        time.sleep(0.01)
    raise LedgerRefusal(f"{signature} was not {commitment} within {_PATIENCE_SECONDS:g} s")
