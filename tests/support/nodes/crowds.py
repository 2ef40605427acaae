"""Many payments, each mined in its own block and waiting for its first check."""

from collections.abc import Sequence

from eth_account import Account

from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.processes import eventually
from tests.support.payments.world import make_request, submit, unsigned


def crowd(merchant: Merchant, token: Token, chain: LocalChain, count: int) -> list[Payment]:
    """Create, pay and submit `count` requests of 1 token each; return the unchecked payments."""
    wanted = [make_request(merchant, token, "1", chain.recipient) for _ in range(count)]
    hashes = pay_all(chain, wanted)
    return [submit(request, sent) for request, sent in zip(wanted, hashes, strict=True)]


def pay_all(chain: LocalChain, wanted: Sequence[PaymentRequest]) -> list[str]:
    """Pay each request in its own transaction; return the hashes in order."""
    account = Account.from_key(chain.payer_key)

    def next_nonce() -> int:
        return int(chain.rpc("eth_getTransactionCount", account.address, "pending"), 16)

    nonce = next_nonce()
    hashes = []
    # Send one after another: anvil sometimes leaves transactions of a batch unmined if their nonces are out
    # of order.
    for number, request in enumerate(wanted):
        signed = account.sign_transaction({**unsigned(chain, request), "nonce": nonce + number})
        hashes.append(str(chain.rpc("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())))
    # For a moment, anvil counts a transaction as neither pending nor mined. The next sender would then reuse
    # its nonce.
    eventually(lambda: next_nonce() == nonce + len(wanted), "the node counted all payments")
    return hashes
