"""Many payments, each mined in a block of its own and waiting for its first check."""

from collections.abc import Sequence

from eth_account import Account

from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.processes import eventually
from tests.support.payments.world import make_request, submit, unsigned


def crowd(merchant: Merchant, token: Token, chain: LocalChain, count: int) -> list[Payment]:
    """Make, pay and submit `count` requests of 1 token each; return the payments, still unchecked."""
    wanted = [make_request(merchant, token, "1", chain.recipient) for _ in range(count)]
    hashes = pay_all(chain, wanted)
    return [submit(request, sent) for request, sent in zip(wanted, hashes, strict=True)]


def pay_all(chain: LocalChain, wanted: Sequence[PaymentRequest]) -> list[str]:
    """Pay each request by a transaction of its own; return the hashes in order."""
    account = Account.from_key(chain.payer_key)

    def next_nonce() -> int:
        return int(chain.rpc("eth_getTransactionCount", account.address, "pending"), 16)

    nonce = next_nonce()
    hashes = []
    # One after the other: of a batch with nonces in any order, anvil now and then leaves some unmined.
    for number, request in enumerate(wanted):
        signed = account.sign_transaction({**unsigned(chain, request), "nonce": nonce + number})
        hashes.append(str(chain.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())))
    # For a moment anvil counts a transaction neither as waiting nor as mined; the next sender would use its nonce.
    eventually(lambda: next_nonce() == nonce + len(wanted), "the node counted all payments")
    return hashes
